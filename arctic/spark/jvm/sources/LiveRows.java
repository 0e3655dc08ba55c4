package arctic.spark;

import java.util.ArrayList;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.execution.ColumnarToRowExec;
import org.apache.spark.sql.execution.FileSourceScanExec;
import org.apache.spark.sql.execution.FilterExec;
import org.apache.spark.sql.execution.ProjectExec;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.datasources.FilePartition;
import org.apache.spark.sql.execution.datasources.FileScanRDD;
import org.apache.spark.sql.execution.datasources.PartitionedFile;

/**
 * The filter of dead rows that counts the rows it is given, where Spark compiles it.
 *
 * Spark's reader makes the place of each row out of boxed numbers, which takes longer than to read a
 * column. Executors cannot count where they interpret a plan: that is of Spark's own classes, and has
 * the places read.
 */
public final class LiveRows extends FilterExec {
  /** Yields the same rows, by their places. */
  private final SparkPlan byPlace;

  public LiveRows(Expression condition, SparkPlan child, SparkPlan byPlace) {
    super(condition, child);
    this.byPlace = byPlace;
  }

  public scala.collection.immutable.Seq inputRDDs() {
    checkWhole(child());
    return super.inputRDDs();
  }

  /** The rows of a part of a file would be taken for its first ones. */
  private static void checkWhole(SparkPlan plan) {
    if (!(plan instanceof FileSourceScanExec)) {
      checkWhole((SparkPlan) plan.children().apply(0));
      return;
    }
    scala.collection.immutable.Seq tasks =
        ((FileScanRDD) ((FileSourceScanExec) plan).inputRDD()).filePartitions();
    for (int i = 0; i < tasks.length(); i++) {
      PartitionedFile[] files = ((FilePartition) tasks.apply(i)).files();
      for (int j = 0; j < files.length; j++) {
        boolean isDirty = files[j].partitionValues().getLong(0) >= 0;
        if (isDirty && (files[j].start() != 0 || files[j].length() != files[j].fileSize())) {
          throw new IllegalStateException("file '" + files[j].filePath() + "' was divided; set "
              + ParquetFiles.WANTED + " to false, and report it");
        }
      }
    }
  }

  public RDD doExecute() {
    return new ProjectExec(output(), inRows(byPlace)).execute();
  }

  /** Returns the plan as Spark runs it. */
  private static SparkPlan inRows(SparkPlan plan) {
    if (plan instanceof FileSourceScanExec) {
      return plan.supportsColumnar() ? new ColumnarToRowExec(plan) : plan;
    }
    ArrayList children = new ArrayList();
    for (int i = 0; i < plan.children().length(); i++) {
      children.add(inRows((SparkPlan) plan.children().apply(i)));
    }
    return (SparkPlan) plan.withNewChildren(Trees.seq(children));
  }

  public FilterExec withNewChildInternal(SparkPlan child) {
    return new LiveRows(condition(), child, byPlace);
  }

  /** Tasks may be sent the plan that they are of, and have classes of Spark alone. */
  protected Object writeReplace() {
    return byPlace;
  }

  public String nodeName() {
    return "ArcticLiveRows";
  }

  public Object productElement(int place) {
    return place == 2 ? byPlace : super.productElement(place);
  }

  public int productArity() {
    return 3;
  }

  public String simpleString(int maxFields) {
    return nodeName() + " " + condition();
  }

  public boolean canEqual(Object other) {
    return other instanceof LiveRows;
  }

  public boolean equals(Object other) {
    return other instanceof LiveRows && super.equals(other);
  }

  public int hashCode() {
    return 31 * condition().hashCode() + child().hashCode();
  }
}
