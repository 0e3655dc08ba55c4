package arctic.tests;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.iceberg.AppendFiles;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.MetadataColumns;
import org.apache.iceberg.PartitionKey;
import org.apache.iceberg.RowDelta;
import org.apache.iceberg.Schema;
import org.apache.iceberg.StructLike;
import org.apache.iceberg.Table;
import org.apache.iceberg.data.GenericAppenderFactory;
import org.apache.iceberg.data.GenericRecord;
import org.apache.iceberg.data.IcebergGenerics;
import org.apache.iceberg.data.InternalRecordWrapper;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.deletes.EqualityDeleteWriter;
import org.apache.iceberg.deletes.PositionDelete;
import org.apache.iceberg.deletes.PositionDeleteWriter;
import org.apache.iceberg.encryption.EncryptedOutputFile;
import org.apache.iceberg.io.CloseableIterable;
import org.apache.iceberg.io.CloseableIterator;
import org.apache.iceberg.io.DataWriter;
import org.apache.iceberg.io.OutputFileFactory;

/** Files of a table as Iceberg's own writers make them; the rows of some have an id and a city. */
public final class PlainFiles {
  /** Returns all data files of a table. */
  public List dataFiles(Table table) throws Exception {
    ArrayList files = new ArrayList();
    CloseableIterable tasks = table.newScan().planFiles();
    CloseableIterator each = tasks.iterator();
    while (each.hasNext()) {
      files.add(((FileScanTask) each.next()).file());
    }
    each.close();
    tasks.close();
    return files;
  }

  /** Writes rows of one partition, which have one city. */
  public DataFile data(Table table, List ids, String city) throws Exception {
    GenericRecord row = GenericRecord.create(table.schema());
    row.setField("city", city);
    row.setField("id", Long.valueOf(((Number) ids.get(0)).longValue()));
    PartitionKey partition = new PartitionKey(table.spec(), table.schema());
    partition.partition(new InternalRecordWrapper(table.schema().asStruct()).wrap(row));
    DataWriter writer =
        new GenericAppenderFactory(table.schema(), table.spec())
            .newDataWriter(place(table, partition), FileFormat.PARQUET, partition);
    for (int i = 0; i < ids.size(); i++) {
      row.setField("id", Long.valueOf(((Number) ids.get(i)).longValue()));
      writer.write(row);
    }
    writer.close();
    return writer.toDataFile();
  }

  /** Deletes every third row of a data file. */
  public DeleteFile positions(Table table, DataFile file) throws Exception {
    PositionDeleteWriter writer =
        new GenericAppenderFactory(table.schema(), table.spec())
            .newPosDeleteWriter(
                place(table, file.partition()), FileFormat.PARQUET, file.partition());
    for (long i = 0L; i < file.recordCount(); i += 3L) {
      writer.write(PositionDelete.create().set(file.location(), i, null));
    }
    writer.close();
    return writer.toDeleteFile();
  }

  /** Deletes an id in the partition of a data file, by its value. */
  public DeleteFile equality(Table table, DataFile file, int id) throws Exception {
    Schema key = table.schema().select(new String[] {"id"});
    int[] ids = new int[] {table.schema().findField("id").fieldId()};
    EqualityDeleteWriter writer =
        new GenericAppenderFactory(table.schema(), table.spec(), ids, key, null)
            .newEqDeleteWriter(
                place(table, file.partition()), FileFormat.PARQUET, file.partition());
    GenericRecord row = GenericRecord.create(key);
    row.setField("id", Long.valueOf((long) id));
    writer.write(row);
    writer.close();
    return writer.toDeleteFile();
  }

  /**
   * Deletes every third row that is alive in each file by its place, in one commit.
   *
   * @return the rows, by their partition
   */
  public Map takeAway(Table table) throws Exception {
    HashMap files = new HashMap();
    for (Iterator each = dataFiles(table).iterator(); each.hasNext(); ) {
      DataFile file = (DataFile) each.next();
      files.put(file.location(), file);
    }
    ArrayList columns = new ArrayList(table.schema().columns());
    columns.add(MetadataColumns.FILE_PATH);
    columns.add(MetadataColumns.ROW_POSITION);
    GenericAppenderFactory factory = new GenericAppenderFactory(table.schema(), table.spec());
    HashMap counts = new HashMap();
    HashMap writers = new HashMap();
    LinkedHashMap taken = new LinkedHashMap();
    CloseableIterable rows = IcebergGenerics.read(table).project(new Schema(columns)).build();
    for (Iterator each = rows.iterator(); each.hasNext(); ) {
      Record row = (Record) each.next();
      String path = row.getField("_file").toString();
      int count = counts.containsKey(path) ? ((Integer) counts.get(path)).intValue() : 0;
      counts.put(path, Integer.valueOf(count + 1));
      if (count % 3 != 0) {
        continue;
      }
      if (!writers.containsKey(path)) {
        StructLike partition = ((DataFile) files.get(path)).partition();
        writers.put(
            path,
            factory.newPosDeleteWriter(place(table, partition), FileFormat.PARQUET, partition));
      }
      long position = ((Long) row.getField("_pos")).longValue();
      ((PositionDeleteWriter) writers.get(path))
          .write(PositionDelete.create().set(path, position, null));
      GenericRecord copy = GenericRecord.create(table.schema());
      for (int i = 0; i < table.schema().columns().size(); i++) {
        copy.set(i, row.get(i, Object.class));
      }
      PartitionKey partition = new PartitionKey(table.spec(), table.schema());
      partition.partition(new InternalRecordWrapper(table.schema().asStruct()).wrap(copy));
      if (!taken.containsKey(partition)) {
        taken.put(partition, new ArrayList());
      }
      ((List) taken.get(partition)).add(copy);
    }
    rows.close();
    RowDelta delta = table.newRowDelta();
    for (Iterator each = writers.values().iterator(); each.hasNext(); ) {
      PositionDeleteWriter writer = (PositionDeleteWriter) each.next();
      writer.close();
      delta.addDeletes(writer.toDeleteFile());
    }
    delta.commit();
    return taken;
  }

  /** Appends rows that were taken away, a file for each partition, in one commit. */
  public void giveBack(Table table, Map taken) throws Exception {
    GenericAppenderFactory factory = new GenericAppenderFactory(table.schema(), table.spec());
    AppendFiles append = table.newAppend();
    for (Iterator each = taken.entrySet().iterator(); each.hasNext(); ) {
      Map.Entry entry = (Map.Entry) each.next();
      PartitionKey partition = (PartitionKey) entry.getKey();
      DataWriter writer =
          factory.newDataWriter(place(table, partition), FileFormat.PARQUET, partition);
      for (Iterator row = ((List) entry.getValue()).iterator(); row.hasNext(); ) {
        writer.write(row.next());
      }
      writer.close();
      append.appendFile(writer.toDataFile());
    }
    append.commit();
  }

  private static EncryptedOutputFile place(Table table, StructLike partition) {
    return OutputFileFactory.builderFor(table, 1, System.nanoTime())
        .build()
        .newOutputFile(table.spec(), partition);
  }
}
