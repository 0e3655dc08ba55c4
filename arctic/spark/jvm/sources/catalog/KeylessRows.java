package arctic.spark.catalog;

import arctic.spark.Trees;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.ProjectingInternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.EqualTo;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.If;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.connector.catalog.MetadataColumn;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructField;

/**
 * What a command makes of rows without a key, which are known by their file and their place in it.
 *
 * A changed row is a dead one and one that is appended, so nothing has an order.
 */
final class KeylessRows {
  static final String FILE = "_arctic_file";
  static final String POSITION = "_arctic_position";

  private KeylessRows() {}

  static MetadataColumn[] columns() {
    return new MetadataColumn[] {
        new Place(FILE, DataTypes.StringType, "path of the data file that holds the row"),
        new Place(POSITION, DataTypes.LongType, "number of the row in its data file, from 0")};
  }

  private static final class Place implements MetadataColumn {
    private final String name;
    private final DataType type;
    private final String comment;

    Place(String name, DataType type, String comment) {
      this.name = name;
      this.type = type;
      this.comment = comment;
    }

    public String name() {
      return name;
    }

    public DataType dataType() {
      return type;
    }

    public boolean isNullable() {
      return false;
    }

    public String comment() {
      return comment;
    }
  }

  /** Takes the columns of rows that stay, null where none does, and those that say where they are. */
  static CommandPlan of(LogicalPlan query, ProjectingInternalRow row, ProjectingInternalRow place,
      CatalogTable table) {
    List list = new ArrayList();
    StructField[] columns = table.schema().fields();
    for (int i = 0; i < columns.length; i++) {
      StructField column = columns[i];
      int at = row == null ? -1 : CommandRows.index(row, column.name());
      list.add(CommandRows.named(at < 0 ? Literal.create(null, column.dataType())
          : (Expression) query.output().apply(CommandRows.ordinal(row, at)), column.name()));
    }
    Expression does = new If(is(query, 1), CommandRows.text("D"),
        new If(is(query, 2), CommandRows.text("U"), new If(is(query, 3), CommandRows.text("I"),
            Literal.create(null, DataTypes.StringType))));
    list.add(CommandRows.named(row == null ? CommandRows.text("D") : does, CommandRows.ACTION));
    for (int i = 0; i < place.schema().length(); i++) {
      Expression value = (Expression) query.output().apply(CommandRows.ordinal(place, i));
      list.add(CommandRows.named(value, place.schema().apply(i).name()));
    }
    return new CommandPlan(new Project(Trees.seq(list), query), CommandPlan.PLACES);
  }

  /** Returns the inserts of a MERGE that has nothing else. */
  static CommandPlan inserts(DataSourceV2Relation target, LogicalPlan query) {
    List list = new ArrayList();
    scala.collection.immutable.Seq columns = target.output();
    for (int i = 0; i < columns.length(); i++) {
      list.add(CommandRows.named((Expression) query.output().apply(i),
          ((Attribute) columns.apply(i)).name()));
    }
    return new CommandPlan(new Project(Trees.seq(list), query), CommandPlan.APPEND);
  }

  private static Expression is(LogicalPlan query, int operation) {
    return new EqualTo((Expression) query.output().apply(0), CommandRows.number(operation));
  }
}
