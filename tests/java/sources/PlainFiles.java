package arctic.tests;

import java.util.ArrayList;
import java.util.List;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.PartitionKey;
import org.apache.iceberg.Schema;
import org.apache.iceberg.StructLike;
import org.apache.iceberg.Table;
import org.apache.iceberg.data.GenericAppenderFactory;
import org.apache.iceberg.data.GenericRecord;
import org.apache.iceberg.data.InternalRecordWrapper;
import org.apache.iceberg.deletes.EqualityDeleteWriter;
import org.apache.iceberg.deletes.PositionDelete;
import org.apache.iceberg.deletes.PositionDeleteWriter;
import org.apache.iceberg.encryption.EncryptedOutputFile;
import org.apache.iceberg.io.CloseableIterable;
import org.apache.iceberg.io.CloseableIterator;
import org.apache.iceberg.io.DataWriter;
import org.apache.iceberg.io.OutputFileFactory;

/** Files of a table with columns id and city, as Iceberg's own writers make them. */
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

  private static EncryptedOutputFile place(Table table, StructLike partition) {
    return OutputFileFactory.builderFor(table, 1, System.nanoTime())
        .build()
        .newOutputFile(table.spec(), partition);
  }
}
