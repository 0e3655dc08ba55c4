package arctic.spark.catalog;

import arctic.spark.Protocol;
import java.util.Collections;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.catalog.procedures.BoundProcedure;
import org.apache.spark.sql.connector.catalog.procedures.ProcedureParameter;
import org.apache.spark.sql.connector.catalog.procedures.UnboundProcedure;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/** What CALL runs: Python told its parameters, and gets the arguments by their names. */
public final class CatalogProcedure implements UnboundProcedure, BoundProcedure {
  private final String catalog;
  private final Map options;
  private final CatalogProtocol.ProcedureAnswer told;
  private final StructType parameters;

  CatalogProcedure(String catalog, Map options, Map answer) {
    this.catalog = catalog;
    this.options = options;
    this.told = new CatalogProtocol.ProcedureAnswer(answer);
    this.parameters = (StructType) DataType.fromJson(Protocol.json(told.parameters));
  }

  public String name() {
    return told.name;
  }

  public String description() {
    return told.description;
  }

  public boolean isDeterministic() {
    return false;
  }

  public BoundProcedure bind(StructType given) {
    return this;
  }

  public ProcedureParameter[] parameters() {
    ProcedureParameter[] all = new ProcedureParameter[parameters.length()];
    for (int i = 0; i < all.length; i++) {
      StructField field = parameters.apply(i);
      ProcedureParameter.Builder made = ProcedureParameter.in(field.name(), field.dataType())
          .comment((String) field.getComment().get());
      all[i] = told.defaults.get(i) == null ? made.build()
          : made.defaultValue((String) told.defaults.get(i)).build();
    }
    return all;
  }

  public Iterator call(InternalRow given) {
    Map arguments = new LinkedHashMap();
    for (int i = 0; i < parameters.length(); i++) {
      StructField field = parameters.apply(i);
      arguments.put(field.name(), PlainValues.plain(given.get(i, field.dataType())));
    }
    ToldRows rows = new ToldRows(Answers.to(CatalogQuestions.call(
        options, Collections.singletonList(name()), catalog, arguments)));
    Recached.tables(catalog, rows.changed);
    return Collections.singletonList(rows).iterator();
  }
}
