package arctic.spark.catalog;

import arctic.spark.Protocol;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.connector.catalog.CatalogV2Util;
import org.apache.spark.sql.connector.catalog.TableInfo;
import org.apache.spark.sql.connector.catalog.constraints.Constraint;
import org.apache.spark.sql.connector.catalog.constraints.PrimaryKey;
import org.apache.spark.sql.connector.expressions.Expression;
import org.apache.spark.sql.connector.expressions.Expressions;
import org.apache.spark.sql.connector.expressions.Literal;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.expressions.Transform;

/** What a table shall be, and how it is partitioned, in Spark's words and in the protocol's. */
final class Definitions {
  private static final String KEY = "primary_key";

  private Definitions() {}

  static Map schema(TableInfo wanted) {
    return Protocol.fields(CatalogV2Util.v2ColumnsToStructType(wanted.columns()).json());
  }

  static List partitions(TableInfo wanted) {
    List partitions = new ArrayList();
    for (int i = 0; i < wanted.partitions().length; i++) {
      partitions.add(told(wanted.partitions()[i]));
    }
    return partitions;
  }

  static List constraints(TableInfo wanted) {
    List constraints = new ArrayList();
    Constraint[] given = wanted.constraints();
    for (int i = 0; given != null && i < given.length; i++) {
      constraints.add(told(given[i]));
    }
    return constraints;
  }

  private static List told(Transform transform) {
    List words = new ArrayList();
    words.add(transform.name());
    Expression[] arguments = transform.arguments();
    for (int i = 0; i < arguments.length; i++) {
      if (arguments[i] instanceof NamedReference) {
        words.add(Protocol.column(String.join(".", ((NamedReference) arguments[i]).fieldNames())));
      } else if (arguments[i] instanceof Literal) {
        words.add(String.valueOf(((Literal) arguments[i]).value()));
      } else {
        words.add(arguments[i].toString());
      }
    }
    return words;
  }

  private static Map told(Constraint constraint) {
    List columns = new ArrayList();
    if (constraint instanceof PrimaryKey) {
      NamedReference[] key = ((PrimaryKey) constraint).columns();
      for (int i = 0; i < key.length; i++) {
        columns.add(String.join(".", key[i].fieldNames()));
      }
    }
    return CatalogQuestions.constraint(constraint.toDDL(), columns);
  }

  /** Returns what says that no two rows have the same key, and none has a null in it. */
  static Constraint[] constraints(String[] key) {
    if (key.length == 0) {
      return new Constraint[0];
    }
    NamedReference[] columns = new NamedReference[key.length];
    for (int i = 0; i < key.length; i++) {
      columns[i] = reference(key[i]);
    }
    PrimaryKey.Builder made = Constraint.primaryKey(KEY, columns);
    made.enforced(false);   // Spark reads no other PRIMARY KEY again
    return new Constraint[] {made.build()};
  }

  /** Returns a column by its whole name, whatever characters that has. */
  static NamedReference reference(String column) {
    return Expressions.column("`" + column.replace("`", "``") + "`");
  }

  /** Returns the transforms of an answer: a name, a width where it takes one, a column. */
  static Transform[] transforms(List told) {
    Transform[] transforms = new Transform[told.size()];
    for (int i = 0; i < transforms.length; i++) {
      transforms[i] = transform((List) told.get(i));
    }
    return transforms;
  }

  private static Transform transform(List words) {
    String name = (String) words.get(0);
    String column = (String) words.get(words.size() - 1);
    if (name.equals("identity")) {
      return Expressions.identity(column);
    }
    if (name.equals("years")) {
      return Expressions.years(column);
    }
    if (name.equals("months")) {
      return Expressions.months(column);
    }
    if (name.equals("days")) {
      return Expressions.days(column);
    }
    if (name.equals("hours")) {
      return Expressions.hours(column);
    }
    int width = ((Number) words.get(1)).intValue();
    if (name.equals("bucket")) {
      return Expressions.bucket(width, new String[] {column});
    }
    return Expressions.apply(name, new Expression[] {
        Expressions.literal(Integer.valueOf(width)), Expressions.column(column)});
  }
}
