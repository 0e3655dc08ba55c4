package arctic.spark;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Add;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.LessThan;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.Not;
import org.apache.spark.sql.catalyst.expressions.Or;
import org.apache.spark.sql.catalyst.expressions.objects.Invoke;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.FileStatusWithMetadata;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation$;
import org.apache.spark.sql.execution.datasources.PartitionDirectory;
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.ObjectType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.util.collection.BitSet;

/**
 * Data files that Spark's own Parquet scan reads, without the rows that are deleted.
 *
 * The rows of all files with deletes are numbered, one file after the other. The first number of a
 * file is the value of a partition column, Spark's reader gives the place of a row in its file, and
 * a bit for the sum of both tells whether the row is dead. Which rows are is asked for when the
 * files are first listed, hence when a query begins and not when it is planned or explained.
 *
 * Executors never see this class: what is sent to them is Spark's own.
 */
public class ParquetFiles {
  private static final String WANTED = "spark.arctic.readWithSpark";
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final String FIRST_ROW = "_arctic_first_row";
  /** Spark's reader fills a column of this name with the places of rows in their file. */
  private static final String ROW_INDEX = ParquetFileFormat.ROW_INDEX_TEMPORARY_COLUMN_NAME();

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

  public static boolean areWanted() {
    return SparkSession.active().conf().get(WANTED, "false").equals("true");
  }

  /** Returns null where there is none. */
  public static ParquetFiles of(Map told, StructType columns, long bytes, Function planner) {
    List paths = (List) told.get("paths");
    if (paths.isEmpty()) {
      return null;
    }
    DeadRows dead = told.get("work") == null ? null
        : new DeadRows((List) told.get("dirty"), (List) told.get("work"), planner);
    int merged = ((Number) told.get("merged")).intValue();
    // Spark takes the share of the numbers of rows off again where they are left out.
    double width = 8 + columns.defaultSize();
    double share = dead == null ? 1 : (width + 2 * DataTypes.LongType.defaultSize()) / width;
    return new ParquetFiles(merged, columns, new Index(paths, (long) (bytes * share), dead),
        Boolean.TRUE.equals(told.get("verifies")));
  }

  /** Returns a plan that yields the live rows, with the attributes of the scan it stands for. */
  public LogicalPlan rows(scala.collection.immutable.Seq output) {
    HashMap options = new HashMap();
    options.put("datetimeRebaseMode", "CORRECTED");
    options.put("ignoreMissingFiles", "false"); // whatever the session says: rows are never skipped
    options.put("ignoreCorruptFiles", "false");
    if (verifies) {
      options.put("parquet.page.verify-checksum.enabled", "true"); // pages only: not the footer
    }
    StructType data = columns.asNullable();
    if (index.dead != null) {
      data = data.add(ROW_INDEX, DataTypes.LongType, true);
    }
    LogicalPlan files = LogicalRelation$.MODULE$.apply(new HadoopFsRelation(index, index.partitionSchema(),
        data, scala.Option.empty(), new ParquetFileFormat(), map(options), SparkSession.active()),
        false);
    ArrayList named = new ArrayList();
    for (int i = 0; i < output.length(); i++) {
      Attribute wanted = (Attribute) output.apply(i);
      named.add(new Alias((Expression) files.output().apply(i), wanted.name(), wanted.exprId(),
          wanted.qualifier(), scala.Option.apply(wanted.metadata()), seq(new ArrayList())));
    }
    if (index.dead != null) {
      int first = columns.length();
      files = new Filter(index.dead.isAlive((Expression) files.output().apply(first + 1),
          (Expression) files.output().apply(first)), files);
    }
    return new Project(seq(named), files);
  }

  /** The dead rows of files, numbered one file after the other. */
  static class DeadRows {
    private final List counts;
    private final List work;
    private final Function planner;
    /** Part of the plan of a query, and sent with its tasks: filled before there is one. */
    private final BitSet bits;
    private boolean known;

    DeadRows(List counts, List work, Function planner) {
      this.counts = counts;
      this.work = work;
      this.planner = planner;
      this.bits = new BitSet(rows());
    }

    int files() {
      return counts.size();
    }

    private int rows() {
      long rows = 0;
      for (int i = 0; i < counts.size(); i++) {
        rows += ((Number) counts.get(i)).longValue();
      }
      return Math.toIntExact(rows);
    }

    /** Returns what is true for the rows to keep; the first row of a clean file is below zero. */
    Expression isAlive(Expression firstRow, Expression rowIndex) {
      ArrayList number = new ArrayList();
      number.add(new Cast(
          new Add(firstRow, rowIndex), DataTypes.IntegerType, scala.Option.empty()));
      Expression isDead = new Invoke(new Literal(bits, new ObjectType(BitSet.class)), "get",
          DataTypes.BooleanType, seq(number), seq(new ArrayList()), true, false, true);
      return new Or(new LessThan(firstRow, new Literal(Long.valueOf(0L), DataTypes.LongType)),
          new Not(isDead));
    }

    synchronized void find() {
      if (known) {
        return;
      }
      Map told = asked();
      if (told.get("error") != null) {
        throw new IllegalArgumentException((String) told.get("error"));
      }
      byte[] found = bytes((List) told.get("bits"));
      int place = 0;
      int row = 0;
      for (int file = 0; file < counts.size(); file++) {
        int rows = ((Number) counts.get(file)).intValue();
        for (int start = 0; start < rows; start += 8) {
          for (int left = found[place++] & 0xff; left != 0; left &= left - 1) {
            bits.set(row + start + Integer.numberOfTrailingZeros(left));
          }
        }
        row += rows;
      }
      if (place != found.length) {
        throw new IllegalStateException(found.length + " bytes of dead rows; expected " + place);
      }
      known = true;
    }

    private static byte[] bytes(List texts) {
      ByteArrayOutputStream bytes = new ByteArrayOutputStream();
      for (int i = 0; i < texts.size(); i++) {
        byte[] part = Base64.getDecoder().decode((String) texts.get(i));
        bytes.write(part, 0, part.length);
      }
      return bytes.toByteArray();
    }

    private Map asked() {
      try {
        String question = JSON.writeValueAsString(Collections.singletonMap("work", work));
        return (Map) JSON.readValue((String) planner.apply(question), Map.class);
      } catch (JsonProcessingException impossible) {
        throw new IllegalStateException(impossible);
      }
    }
  }

  /** The files of a plan; no folder is listed. */
  static class Index implements FileIndex {
    private final List paths;
    private final long bytes;
    /** Of the first files; null: all are clean. */
    private final DeadRows dead;

    Index(List paths, long bytes, DeadRows dead) {
      this.paths = paths;
      this.bytes = bytes;
      this.dead = dead;
    }

    public scala.collection.immutable.Seq listFiles(
        scala.collection.immutable.Seq partitionFilters,
        scala.collection.immutable.Seq dataFilters) {
      Configuration conf = SparkSession.active().sparkContext().hadoopConfiguration();
      int dirty = dead == null ? 0 : dead.files();
      ArrayList listed = new ArrayList();
      long firstRow = 0;
      if (dead != null) {
        dead.find();
      }
      for (int i = 0; i < dirty; i++) {
        listed.add(directory(Long.valueOf(firstRow), i, i + 1, conf));
        firstRow += ((Number) dead.counts.get(i)).longValue();
      }
      if (dirty < paths.size()) {
        listed.add(directory(Long.valueOf(-1), dirty, paths.size(), conf));
      }
      return seq(listed);
    }

    private PartitionDirectory directory(Long firstRow, int from, int to, Configuration conf) {
      InternalRow values = new GenericInternalRow(
          dead == null ? new Object[0] : new Object[] {firstRow});
      ArrayList files = new ArrayList();
      for (int i = from; i < to; i++) {
        files.add(new FileStatusWithMetadata(status((String) paths.get(i), conf),
            map(new HashMap())));
      }
      return new PartitionDirectory(values, seq(files));
    }

    /** By its length Spark decides which part of a file a task reads: a manifest may be wrong. */
    private static FileStatus status(String file, Configuration conf) {
      try {
        Path path = new Path(file);
        return path.getFileSystem(conf).getFileStatus(path);
      } catch (IOException error) {
        throw new IllegalArgumentException("cannot read file '" + file + "': " + error, error);
      }
    }

    public scala.collection.immutable.Seq rootPaths() {
      ArrayList roots = new ArrayList();
      for (int i = 0; i < paths.size(); i++) {
        roots.add(new Path((String) paths.get(i)));
      }
      return seq(roots);
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
      return dead == null ? schema : schema.add(
          new StructField(FIRST_ROW, DataTypes.LongType, false, Metadata.empty()));
    }

    public String toString() {
      return "Arctic";
    }

    public boolean equals(Object other) {
      return other instanceof Index && ((Index) other).paths.equals(paths)
          && java.util.Objects.equals(((Index) other).work(), work());
    }

    public int hashCode() {
      return paths.hashCode();
    }

    private List work() {
      return dead == null ? null : dead.work;
    }
  }

  private static scala.collection.immutable.Seq seq(List items) {
    return scala.jdk.javaapi.CollectionConverters.asScala(items).toSeq();
  }

  private static scala.collection.immutable.Map map(Map items) {
    return (scala.collection.immutable.Map) scala.collection.immutable.Map$.MODULE$.from(
        scala.jdk.javaapi.CollectionConverters.asScala(items));
  }
}
