package arctic.spark;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.FileSourceOptions;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.physical.Partitioning;
import org.apache.spark.sql.catalyst.plans.physical.UnknownPartitioning;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.catalyst.util.UnsafeRowUtils;
import org.apache.spark.sql.execution.FileSourceScanExec;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.datasources.FilePartition;
import org.apache.spark.sql.execution.datasources.FileScanRDD;
import org.apache.spark.sql.execution.datasources.PartitionedFile;

/**
 * A scan of Spark's own whose partition i has the rows of group i, and all of them.
 *
 * A Python scan was planned so. Of a Parquet scan the files are dealt out anew, and its own reader
 * reads them; executors see nothing but that.
 */
public final class GroupedScan extends SparkPlan {
  private final String function;
  private final Integer groups;
  /** Names of the columns that the function takes. */
  private final List columns;
  private final SparkPlan scan;

  public GroupedScan(String function, Integer groups, List columns, SparkPlan scan) {
    this.function = function;
    this.groups = groups;
    this.columns = columns;
    this.scan = scan;
  }

  public scala.collection.immutable.Seq output() {
    return scan.output();
  }

  /** Texts that a collation holds for equal may be in other groups: their bytes are not. */
  public Partitioning outputPartitioning() {
    ArrayList keys = new ArrayList();
    for (int i = 0; i < columns.size(); i++) {
      for (int place = 0; place < output().length(); place++) {
        Attribute attribute = (Attribute) output().apply(place);
        if (attribute.name().equals(columns.get(i))
            && UnsafeRowUtils.isBinaryStable(attribute.dataType())) {
          keys.add(attribute);
        }
      }
    }
    return keys.size() == columns.size()
        ? (Partitioning) new KeyGroups(function, groups.intValue(), Trees.seq(keys))
        : new UnknownPartitioning(groups.intValue());
  }

  public boolean supportsColumnar() {
    return scan.supportsColumnar();
  }

  public boolean supportsRowBased() {
    return !scan.supportsColumnar();
  }

  public RDD doExecute() {
    return whole(scan.execute());
  }

  public RDD doExecuteColumnar() {
    return whole(scan instanceof FileSourceScanExec ? dealt((FileSourceScanExec) scan)
        : scan.executeColumnar());
  }

  /** Whoever joins by these groups would miss or double rows where there were others. */
  private RDD whole(RDD rows) {
    if (rows.getNumPartitions() != groups.intValue()) {
      throw new IllegalStateException(rows.getNumPartitions() + " partitions of " + nodeName()
          + "; expected " + groups + "; set " + KeyGroupsAsked.WANTED + " to false, and report it");
    }
    return rows;
  }

  private RDD dealt(FileSourceScanExec files) {
    files.executeColumnar(); // waits for subqueries that its filters have
    FileScanRDD planned = (FileScanRDD) files.inputRDD();
    ParquetFiles.Index index = (ParquetFiles.Index) files.relation().location();
    List[] parts = new List[groups.intValue()];
    for (int i = 0; i < parts.length; i++) {
      parts[i] = new ArrayList();
    }
    scala.collection.immutable.Seq before = planned.filePartitions();
    for (int i = 0; i < before.length(); i++) {
      PartitionedFile[] some = ((FilePartition) before.apply(i)).files();
      for (int j = 0; j < some.length; j++) {
        parts[index.groupOf(some[j].filePath())].add(some[j]);
      }
    }
    ArrayList dealt = new ArrayList();
    for (int i = 0; i < parts.length; i++) {
      dealt.add(new FilePartition(
          i, (PartitionedFile[]) parts[i].toArray(new PartitionedFile[0])));
    }
    return new FileScanRDD(session(),
        planned.org$apache$spark$sql$execution$datasources$FileScanRDD$$readFunction,
        Trees.seq(dealt), planned.readSchema(), planned.metadataColumns(),
        Trees.map(new HashMap()), new FileSourceOptions(files.relation().options()));
  }

  public scala.collection.immutable.Seq children() {
    ArrayList children = new ArrayList();
    children.add(scan);
    return Trees.seq(children);
  }

  public TreeNode withNewChildrenInternal(scala.collection.immutable.IndexedSeq children) {
    return new GroupedScan(function, groups, columns, (SparkPlan) children.apply(0));
  }

  /** Tasks may be sent the plan that they are of, and have classes of Spark alone. */
  protected Object writeReplace() {
    return scan;
  }

  public String simpleString(int maxFields) {
    return "ArcticGroups " + groups + " by " + function + " of " + columns + ": no shuffle by these";
  }

  public String nodeName() {
    return "ArcticGroups";
  }

  public Object productElement(int place) {
    return place == 0 ? (Object) function : place == 1 ? (Object) groups
        : place == 2 ? (Object) columns : scan;
  }

  public int productArity() {
    return 4;
  }

  public boolean canEqual(Object other) {
    return other instanceof GroupedScan;
  }

  public boolean equals(Object other) {
    return other instanceof GroupedScan && ((GroupedScan) other).function.equals(function)
        && ((GroupedScan) other).groups.equals(groups)
        && ((GroupedScan) other).columns.equals(columns) && ((GroupedScan) other).scan.equals(scan);
  }

  public int hashCode() {
    return 31 * function.hashCode() + scan.hashCode();
  }
}
