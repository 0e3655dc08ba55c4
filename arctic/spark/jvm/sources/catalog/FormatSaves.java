package arctic.spark.catalog;

import arctic.spark.Trees;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.Set;
import org.apache.spark.sql.catalyst.plans.logical.AppendData;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.OverwriteByExpression;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.connector.catalog.SupportsWrite;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.execution.datasources.v2.python.PythonTable;
import org.apache.spark.sql.types.StructType;

/** Has the rows of a save in our format written by the writer of frames, which spreads them. */
public final class FormatSaves extends Rule {
  private final String format;

  FormatSaves(String format) {
    this.format = format;
  }

  public String ruleName() {
    return "arctic.spark.FormatSaves";
  }

  public TreeNode apply(TreeNode plan) {
    if (!(plan instanceof AppendData || plan instanceof OverwriteByExpression)) {
      return plan;
    }
    Object target = ((scala.Product) plan).productElement(0);
    if (!(target instanceof DataSourceV2Relation)) {
      return plan;
    }
    DataSourceV2Relation relation = (DataSourceV2Relation) target;
    // One with a name is an entry of Spark's own catalog, which the source refuses.
    if (relation.table().getClass() != PythonTable.class || relation.identifier().isDefined()
        || !relation.table().name().equalsIgnoreCase(format)) {
      return plan;
    }
    return Trees.with((LogicalPlan) plan, 0,
        Trees.with(relation, 0, new Target(relation.table().name(), relation.table().schema())));
  }

  /** A table that its options name: what is written to it is saved in one commit. */
  private static final class Target implements SupportsWrite {
    private final String name;
    private final StructType schema;

    Target(String name, StructType schema) {
      this.name = name;
      this.schema = schema;
    }

    public String name() {
      return name;
    }

    public StructType schema() {
      return schema;
    }

    public Set capabilities() {
      Set all = new HashSet();
      all.add(TableCapability.V1_BATCH_WRITE);
      all.add(TableCapability.TRUNCATE);
      all.add(TableCapability.ACCEPT_ANY_SCHEMA);
      return all;
    }

    public WriteBuilder newWriteBuilder(LogicalWriteInfo info) {
      return new FrameWrite(name, info.options(), new ArrayList(), false, false);
    }
  }

  /** Handed to SparkSessionExtensions.injectOptimizerRule. */
  public static final class Install extends scala.runtime.AbstractFunction1 {
    private final String format;

    public Install(String format) {
      this.format = format;
    }

    public Object apply(Object session) {
      return new FormatSaves(format);
    }
  }
}
