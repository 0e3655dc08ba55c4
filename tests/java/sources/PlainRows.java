package arctic.tests;

import java.io.BufferedWriter;
import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import org.apache.iceberg.StructLike;
import org.apache.iceberg.Table;
import org.apache.iceberg.data.IcebergGenerics;
import org.apache.iceberg.io.CloseableIterable;

/** Rows as Iceberg's generic reader gives them, in the texts that canonical.py writes too. */
public final class PlainRows {
  private static final long MICROS = 1000000L;

  /** Writes all rows of a table into a file, sorted as UTF-16. */
  public int write(Table table, String path) throws Exception {
    ArrayList lines = new ArrayList();
    int columns = table.schema().columns().size(); // behind them may be what applies deletes
    CloseableIterable rows = IcebergGenerics.read(table).build();
    try {
      for (Iterator each = rows.iterator(); each.hasNext(); ) {
        lines.add(fields((StructLike) each.next(), columns));
      }
    } finally {
      rows.close();
    }
    Collections.sort(lines);
    BufferedWriter out = Files.newBufferedWriter(Paths.get(path, new String[0]), StandardCharsets.UTF_8);
    for (int i = 0; i < lines.size(); i++) {
      out.write(lines.get(i) + "\n");
    }
    out.close();
    return lines.size();
  }

  private static String fields(StructLike row, int columns) {
    StringBuilder line = new StringBuilder();
    for (int i = 0; i < columns; i++) {
      line.append(i == 0 ? "" : "\t").append(text(row.get(i, Object.class)));
    }
    return line.toString();
  }

  private static String text(Object value) {
    if (value == null) {
      return "-";
    }
    if (value instanceof CharSequence) {
      return "'" + value.toString().replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n");
    }
    if (value instanceof Float) {
      return "f" + Integer.toHexString(Float.floatToIntBits(((Float) value).floatValue()));
    }
    if (value instanceof Double) {
      return "d" + Long.toHexString(Double.doubleToLongBits(((Double) value).doubleValue()));
    }
    if (value instanceof BigDecimal) {
      return ((BigDecimal) value).toPlainString();
    }
    if (value instanceof LocalDate) {
      return String.valueOf(((LocalDate) value).toEpochDay());
    }
    if (value instanceof LocalTime) {
      return String.valueOf(((LocalTime) value).toNanoOfDay() / 1000L);
    }
    if (value instanceof OffsetDateTime) {
      return micros(((OffsetDateTime) value).withOffsetSameInstant(ZoneOffset.UTC).toLocalDateTime());
    }
    if (value instanceof LocalDateTime) {
      return micros((LocalDateTime) value);
    }
    if (value instanceof byte[]) {
      return hex(ByteBuffer.wrap((byte[]) value));
    }
    if (value instanceof ByteBuffer) {
      return hex((ByteBuffer) ((ByteBuffer) value).duplicate());
    }
    return nested(value);
  }

  private static String nested(Object value) {
    if (value instanceof StructLike) {
      return "(" + fields((StructLike) value, ((StructLike) value).size()) + ")";
    }
    ArrayList parts = new ArrayList();
    if (value instanceof Map) {
      for (Iterator each = ((Map) value).entrySet().iterator(); each.hasNext(); ) {
        Map.Entry entry = (Map.Entry) each.next();
        parts.add(text(entry.getKey()) + "=" + text(entry.getValue()));
      }
      Collections.sort(parts);
      return "{" + String.join(",", parts) + "}";
    }
    if (value instanceof List) {
      for (Iterator each = ((List) value).iterator(); each.hasNext(); ) {
        parts.add(text(each.next()));
      }
      return "[" + String.join(",", parts) + "]";
    }
    return value.toString(); // booleans, whole numbers, UUIDs
  }

  private static String micros(LocalDateTime value) {
    return String.valueOf(
        value.toEpochSecond(ZoneOffset.UTC) * MICROS + (long) (value.getNano() / 1000));
  }

  private static String hex(ByteBuffer bytes) {
    StringBuilder digits = new StringBuilder("x");
    while (bytes.hasRemaining()) {
      int each = bytes.get() & 255;
      digits.append(Character.forDigit(each >> 4, 16)).append(Character.forDigit(each & 15, 16));
    }
    return digits.toString();
  }
}
