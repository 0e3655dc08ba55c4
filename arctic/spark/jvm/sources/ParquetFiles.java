package arctic.spark;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.spark.paths.SparkPath;
import org.apache.spark.sql.RuntimeConfig;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.FileStatusWithMetadata;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation$;
import org.apache.spark.sql.execution.datasources.PartitionDirectory;
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat;
import org.apache.spark.sql.execution.datasources.parquet.ParquetUtils;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.MetadataBuilder;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/**
 * Data files that Spark's own Parquet scan reads, without the rows that are deleted.
 *
 * The rows of all files with deletes are numbered, one file after the other. The first number of a
 * file is the value of a partition column, Spark's reader gives the place of a row in its file, and
 * a bit for the sum of both tells whether the row is dead: see DeadRows. Which rows are is asked for
 * when the files are first listed.
 *
 * Executors never see this class: what is sent to them is Spark's own.
 */
public class ParquetFiles {
  static final String WANTED = "spark.arctic.readWithSpark";
  public static final String FIRST_ROW = "_arctic_first_row";
  public static final String ROWS = "_arctic_rows";
  /** Spark's reader fills a column of this name with the places of rows in their file. */
  public static final String ROW_INDEX = ParquetFileFormat.ROW_INDEX_TEMPORARY_COLUMN_NAME();

  /** Partitions of the Python scan that hold other files; they come first. */
  public final int merged;
  private final StructType columns;
  private final Index index;
  private final boolean verifies;

  private ParquetFiles(int merged, StructType columns, Index index, boolean verifies) {
    this.merged = merged;
    this.columns = columns;
    this.index = index;
    this.verifies = verifies;
  }

  /** Spark would move times of 96 bits in files of others, where its session says that it shall. */
  public static boolean areWanted() {
    RuntimeConfig settings = SparkSession.active().conf();
    return settings.get(WANTED, "false").equals("true")
        && !settings.get("spark.sql.parquet.int96TimestampConversion").equals("true");
  }

  /** Returns null where there is none. */
  public static ParquetFiles of(Protocol.ScanAnswer told, Map settings, StructType columns,
      long bytes, Function planner, KeyGroupsAsked groups) {
    if (told.paths.isEmpty()) {
      return null;
    }
    DeadRows dead = told.work == null ? null : KnownDeadRows.of(
        told.rowCounts, told.work, planner, SparkSession.active().sparkContext());
    // Spark takes the share of the numbers of rows off again where they are left out.
    double width = Estimate.width(columns);
    double share = dead == null ? 1 : (width + 2 * DataTypes.LongType.defaultSize()) / width;
    return new ParquetFiles(told.merged, withIds(columns, told.fieldIds),
        new Index(told.paths, settings, (long) (bytes * share), dead, groups, told.fileGroups),
        told.verifiesPages);
  }

  /** Returns a plan that yields the live rows, with the attributes of the scan it stands for. */
  public LogicalPlan rows(scala.collection.immutable.Seq output) {
    HashMap options = new HashMap(index.settings); // tasks are told so, and Spark prints none of it
    options.put("datetimeRebaseMode", "CORRECTED");
    options.put("int96RebaseMode", "CORRECTED");
    options.put("spark.sql.parquet.fieldId.read.enabled", "true");
    options.put("spark.sql.parquet.fieldId.read.ignoreMissing", "false"); // a file without is refused
    options.put("ignoreMissingFiles", "false"); // whatever the session says: rows are never skipped
    options.put("ignoreCorruptFiles", "false");
    if (verifies) {
      options.put("parquet.page.verify-checksum.enabled", "true"); // pages only: not the footer
    }
    StructType data = asRequired(columns.asNullable(), output);
    if (index.dead != null) {
      data = data.add(ROW_INDEX, DataTypes.LongType, true);
    }
    LogicalPlan files = LogicalRelation$.MODULE$.apply(new HadoopFsRelation(index, index.partitionSchema(),
        data, scala.Option.empty(), new FloatsUnfiltered(), Trees.map(options), SparkSession.active()),
        false);
    ArrayList named = new ArrayList();
    for (int i = 0; i < output.length(); i++) {
      Attribute wanted = (Attribute) output.apply(i);
      named.add(new Alias((Expression) files.output().apply(i), wanted.name(), wanted.exprId(),
          wanted.qualifier(), scala.Option.apply(wanted.metadata()), Trees.seq(new ArrayList())));
    }
    if (index.dead != null) {
      int first = columns.length();
      files = new Filter(new IsAlive(index.dead, (Expression) files.output().apply(first + 1),
          (Expression) files.output().apply(first)), files);
    }
    return new Project(Trees.seq(named), files);
  }

  /** Returns the same files to be read without places of rows, each by one task. */
  static HadoopFsRelation whole(HadoopFsRelation files) {
    StructField[] columns = (StructField[]) files.dataSchema().fields();
    StructType data = new StructType(
        (StructField[]) Arrays.copyOf(columns, columns.length - 1)); // the place is the last
    return new HadoopFsRelation(files.location(), files.partitionSchema(), data, scala.Option.empty(),
        new WholeFiles((Index) files.location()), files.options(), files.sparkSession());
  }

  /** By their names alone columns would also be found in a file that says nothing of its columns. */
  private static StructType withIds(StructType columns, List ids) {
    StructField[] fields = (StructField[]) columns.fields().clone();
    for (int i = 0; i < fields.length; i++) {
      Metadata metadata = new MetadataBuilder().withMetadata(fields[i].metadata())
          .putLong(ParquetUtils.FIELD_ID_METADATA_KEY(), ((Number) ids.get(i)).longValue()).build();
      fields[i] = new StructField(fields[i].name(), fields[i].dataType(), fields[i].nullable(),
          metadata);
    }
    return new StructType(fields);
  }

  /** Columns without null stay so: a statement may put them where none must be. */
  private static StructType asRequired(StructType columns, scala.collection.immutable.Seq output) {
    StructField[] fields = (StructField[]) columns.fields().clone();
    for (int i = 0; i < output.length(); i++) {
      boolean nullable = ((Attribute) output.apply(i)).nullable();
      fields[i] = new StructField(fields[i].name(), fields[i].dataType(), nullable,
          fields[i].metadata());
    }
    return new StructType(fields);
  }

  /** The files of a plan; no folder is listed. */
  static class Index implements FileIndex {
    private final List paths;
    /** Of Hadoop. */
    private final Map settings;
    private final long bytes;
    /** Of the first files; null: all are clean. */
    private final DeadRows dead;
    /** Null: files may be read in any. */
    private final KeyGroupsAsked groups;
    private final List fileGroups;
    /** Of files as they were found. */
    private final Map groupsByPath = new HashMap();
    private final Set dirty = new HashSet();

    Index(List paths, Map settings, long bytes, DeadRows dead, KeyGroupsAsked groups,
        List fileGroups) {
      this.paths = paths;
      this.settings = settings;
      this.bytes = bytes;
      this.dead = dead;
      this.groups = groups;
      this.fileGroups = fileGroups;
    }

    DeadRows dead() {
      return dead;
    }

    KeyGroupsAsked groups() {
      return groups;
    }

    /** Returns the group that all rows of a file are of. */
    synchronized int groupOf(SparkPath path) {
      return ((Integer) Protocol.needed(groupsByPath, path.urlEncoded())).intValue();
    }

    /** Says whether a file that was found has dead rows. */
    synchronized boolean isDirty(Path path) {
      return dirty.contains(path);
    }

    private synchronized void note(FileStatus[] found) {
      for (int i = 0; dead != null && i < dead.files(); i++) {
        dirty.add(found[i].getPath());
      }
      for (int i = 0; i < fileGroups.size(); i++) {
        groupsByPath.put(SparkPath.fromFileStatus(found[i]).urlEncoded(),
            Integer.valueOf(((Number) fileGroups.get(i)).intValue()));
      }
    }

    public scala.collection.immutable.Seq listFiles(
        scala.collection.immutable.Seq partitionFilters,
        scala.collection.immutable.Seq dataFilters) {
      FileStatus[] found = HadoopFiles.found(paths, settings);
      note(found);
      int dirty = dead == null ? 0 : dead.files();
      ArrayList listed = new ArrayList();
      long firstRow = 0;
      if (dead != null) {
        dead.find();
        KnownDeadRows.remember(dead);
      }
      for (int i = 0; i < dirty; i++) {
        listed.add(directory(firstRow, dead.rows(i), i, i + 1, found));
        firstRow += dead.numbers(i);
      }
      if (dirty < paths.size()) {
        listed.add(directory(-1, 0, dirty, paths.size(), found));
      }
      return Trees.seq(listed);
    }

    private PartitionDirectory directory(long firstRow, long rows, int from, int to,
        FileStatus[] found) {
      InternalRow values = new GenericInternalRow(dead == null ? new Object[0]
          : new Object[] {Long.valueOf(firstRow), Long.valueOf(rows)});
      ArrayList files = new ArrayList();
      for (int i = from; i < to; i++) {
        files.add(new FileStatusWithMetadata(found[i], Trees.map(new HashMap())));
      }
      return new PartitionDirectory(values, Trees.seq(files));
    }

    public scala.collection.immutable.Seq rootPaths() {
      ArrayList roots = new ArrayList();
      for (int i = 0; i < paths.size(); i++) {
        roots.add(new Path((String) paths.get(i)));
      }
      return Trees.seq(roots);
    }

    public String[] inputFiles() {
      return (String[]) paths.toArray(new String[0]);
    }

    public void refresh() {
      // What a snapshot holds never changes.
    }

    public long sizeInBytes() {
      return bytes;
    }

    public StructType partitionSchema() {
      StructType schema = new StructType();
      return dead == null ? schema
          : schema.add(FIRST_ROW, DataTypes.LongType, false).add(ROWS, DataTypes.LongType, false);
    }

    public String toString() {
      return "Arctic";
    }

    public boolean equals(Object other) {
      return other instanceof Index && ((Index) other).paths.equals(paths)
          && java.util.Objects.equals(((Index) other).dead, dead)
          && java.util.Objects.equals(((Index) other).groups, groups);
    }

    public int hashCode() {
      return paths.hashCode();
    }
  }
}
