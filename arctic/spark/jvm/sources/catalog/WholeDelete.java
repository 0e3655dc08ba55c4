package arctic.spark.catalog;

import arctic.spark.Hints;
import arctic.spark.Trees;
import java.lang.reflect.Constructor;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.SubqueryExpression;
import org.apache.spark.sql.catalyst.plans.logical.DeleteFromTableWithFilters;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Strategy$;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** A DELETE whose condition covers whole partitions or files, of which no row is read. */
final class WholeDelete {
  private WholeDelete() {}

  /** Returns null where rows have to be looked at. */
  static LogicalPlan of(Expression condition, DataSourceV2Relation target, CatalogTable table) {
    List predicates = new ArrayList();
    if (!take(condition, predicates)) {
      return null;
    }
    Predicate[] all = (Predicate[]) predicates.toArray(new Predicate[0]);
    return table.canDeleteWhere(all) ? plan(target, predicates) : null;
  }

  /** Has rows of a table removed, or asks whether metadata is enough for that. */
  static boolean asked(Map table, Predicate[] predicates, boolean only) {
    List where = new ArrayList();
    for (int i = 0; i < predicates.length; i++) {
      if (predicates[i].name().equals("ALWAYS_TRUE")) {
        continue;   // of a DELETE without a condition
      }
      List hint = Hints.of(predicates[i]);
      if (hint == null) {
        return false;
      }
      where.add(hint);
    }
    return CatalogProtocol.found(Answers.to(CatalogQuestions.delete(table, where, only)));
  }

  private static boolean take(Expression condition, List predicates) {
    if (condition instanceof And) {
      return take(((And) condition).left(), predicates)
          && take(((And) condition).right(), predicates);
    }
    if (!condition.deterministic() || SubqueryExpression.hasSubquery(condition)) {
      return false;
    }
    scala.Option told = DataSourceV2Strategy$.MODULE$.translateFilterV2(condition);
    return told.isDefined() && predicates.add(told.get());
  }

  /** It has no options in Spark 4.1 and 4.2. */
  private static LogicalPlan plan(DataSourceV2Relation target, List predicates) {
    Constructor made = DeleteFromTableWithFilters.class.getConstructors()[0];
    List fields = new ArrayList(Arrays.asList(new Object[] {target, Trees.seq(predicates)}));
    if (made.getParameterTypes().length > fields.size()) {
      fields.add(new CaseInsensitiveStringMap(new HashMap()));
    }
    try {
      return (LogicalPlan) made.newInstance(fields.toArray());
    } catch (ReflectiveOperationException error) {
      throw new IllegalStateException(error);
    }
  }
}
