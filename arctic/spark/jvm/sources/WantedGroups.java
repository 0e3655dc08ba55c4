package arctic.spark;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.EqualTo;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation;
import org.apache.spark.sql.internal.SQLConf;

/**
 * Which scans of a plan are worth their rows in groups, because a join or a grouping of it needs no
 * shuffle then.
 *
 * A guess that costs time where it is wrong, never rows: what is planned says for itself what groups
 * it has.
 */
final class WantedGroups {
  /** From the id of an attribute to the column of a scan that it is, as Column. */
  private final Map origins = new HashMap();
  /** From a relation to what it is to be planned in, as GroupsChoice. */
  private final Map chosen = new IdentityHashMap();
  private final List joins = new ArrayList();
  private final List aggregates = new ArrayList();

  private WantedGroups() {}

  /** Returns KeyGroupsAsked by the id of the first attribute of a relation: see of(relation). */
  static Map of(LogicalPlan plan) {
    Map groups = new HashMap();
    WantedGroups wanted = new WantedGroups();
    if (KeyGroupsAsked.areWanted()) {
      wanted.look(plan, null);
    }
    for (int i = 0; i < wanted.joins.size(); i++) {
      wanted.choose((Join) wanted.joins.get(i));
    }
    for (int i = 0; i < wanted.aggregates.size(); i++) {
      wanted.choose((Aggregate) wanted.aggregates.get(i));
    }
    Object[] relations = wanted.chosen.keySet().toArray();
    for (int i = 0; i < relations.length; i++) {
      KeyGroupsAsked worthIt = ((GroupsChoice) wanted.chosen.get(relations[i])).worthIt();
      if (worthIt != null) {
        groups.put(id((DataSourceV2ScanRelation) relations[i]), worthIt);
      }
    }
    return groups;
  }

  /** Returns what a relation is to be planned in; null: nothing. */
  static KeyGroupsAsked of(Map wanted, DataSourceV2ScanRelation relation) {
    KeyGroupsAsked asked = relation.output().isEmpty() ? null
        : (KeyGroupsAsked) wanted.get(id(relation));
    if (asked == null || !canBeGrouped(relation)) {
      return null;
    }
    // A plan may have a scan twice, with other filters.
    List offers = ((OwnScan) relation.scan()).groupings;
    for (int i = 0; i < offers.size(); i++) {
      KeyGroupsAsked offer = (KeyGroupsAsked) offers.get(i);
      if (offer.of(asked.groups).equals(asked) && offer.groups % asked.groups == 0) {
        return asked;
      }
    }
    return null;
  }

  private static Object id(DataSourceV2ScanRelation relation) {
    return ((Attribute) relation.output().apply(0)).exprId();
  }

  private void look(LogicalPlan plan, LogicalPlan parent) {
    for (int i = 0; i < plan.children().length(); i++) {
      look((LogicalPlan) plan.children().apply(i), plan);
    }
    if (plan instanceof DataSourceV2ScanRelation) {
      DataSourceV2ScanRelation relation = (DataSourceV2ScanRelation) plan;
      boolean isKept = parent instanceof Filter
          && ReadWithSpark.isKept(((Filter) parent).condition());
      if (!isKept && canBeGrouped(relation)
          && (relation.output().isEmpty() || !origins.containsKey(id(relation)))) {
        for (int i = 0; i < relation.output().length(); i++) {
          Attribute attribute = (Attribute) relation.output().apply(i);
          origins.put(attribute.exprId(), new Column(relation, attribute.name()));
        }
      }
    } else if (plan instanceof Project) {
      follow(((Project) plan).projectList());
    } else if (plan instanceof Aggregate) {
      follow(((Aggregate) plan).aggregateExpressions());
      aggregates.add(plan);
    } else if (plan instanceof Join) {
      joins.add(plan);
    }
  }

  private static boolean canBeGrouped(DataSourceV2ScanRelation relation) {
    if (!(relation.scan() instanceof OwnScan)) {
      return false;
    }
    OwnScan scan = (OwnScan) relation.scan();
    return scan.groups == null && !scan.leavesFiles && !scan.groupings.isEmpty();
  }

  private void follow(scala.collection.immutable.Seq named) {
    for (int i = 0; i < named.length(); i++) {
      if (named.apply(i) instanceof Alias) {
        Alias alias = (Alias) named.apply(i);
        Column origin = origin(alias.child());
        if (origin != null) {
          origins.put(alias.exprId(), origin);
        }
      }
    }
  }

  private Column origin(Object expression) {
    return expression instanceof Attribute
        ? (Column) origins.get(((Attribute) expression).exprId()) : null;
  }

  private void choose(Join join) {
    List pairs = new ArrayList();
    if (join.condition().isDefined()) {
      addPairs((Expression) join.condition().get(), pairs);
    }
    if (pairs.isEmpty() || isBroadcast(join)) {
      return;
    }
    for (int i = 0; i < pairs.size(); i++) {
      Column[] pair = (Column[]) pairs.get(i);
      List offers = ((OwnScan) pair[0].relation.scan()).groupings;
      for (int j = 0; j < offers.size(); j++) {
        KeyGroupsAsked mine = (KeyGroupsAsked) offers.get(j);
        KeyGroupsAsked other = partner(mine, pair[0].relation, pair[1].relation, pairs);
        GroupsChoice left = other == null ? null : choice(pair[0].relation, mine);
        GroupsChoice right = other == null ? null : choice(pair[1].relation, other);
        if (left != null && right != null) {
          left.joinedWith(right);
        }
      }
    }
  }

  /** Whether a side is small enough to be sent to all tasks, and may be. */
  private static boolean isBroadcast(Join join) {
    SQLConf conf = (SQLConf) SQLConf.get();
    String kind = join.joinType().sql();
    boolean left = kind.equals("INNER") || kind.equals("RIGHT OUTER");
    boolean right = !kind.equals("FULL OUTER") && !kind.equals("RIGHT OUTER");
    return left && isSmall(join.left(), conf) || right && isSmall(join.right(), conf);
  }

  private static boolean isSmall(LogicalPlan plan, SQLConf conf) {
    return plan.stats().sizeInBytes().bigInteger().compareTo(
        java.math.BigInteger.valueOf(conf.autoBroadcastJoinThreshold())) <= 0;
  }

  private void addPairs(Expression condition, List pairs) {
    if (condition instanceof And) {
      addPairs(((And) condition).left(), pairs);
      addPairs(((And) condition).right(), pairs);
    } else if (condition instanceof EqualTo) {
      Column one = origin(((EqualTo) condition).left());
      Column other = origin(((EqualTo) condition).right());
      if (one != null && other != null) {
        pairs.add(new Column[] {one, other});
        pairs.add(new Column[] {other, one});
      }
    }
  }

  /** Returns the same function of the other relation, all of whose columns are joined with theirs. */
  private static KeyGroupsAsked partner(KeyGroupsAsked mine, DataSourceV2ScanRelation relation,
      DataSourceV2ScanRelation other, List pairs) {
    List offers = ((OwnScan) other.scan()).groupings;
    for (int i = 0; i < offers.size(); i++) {
      KeyGroupsAsked theirs = (KeyGroupsAsked) offers.get(i);
      boolean fits = theirs.function.equals(mine.function);
      for (int j = 0; fits && j < mine.columns.size(); j++) {
        boolean found = false;
        for (int k = 0; k < pairs.size(); k++) {
          Column[] pair = (Column[]) pairs.get(k);
          found = found || pair[0].is(relation, mine.columns.get(j))
              && pair[1].is(other, theirs.columns.get(j));
        }
        fits = found;
      }
      if (fits) {
        return theirs;
      }
    }
    return null;
  }

  private void choose(Aggregate aggregate) {
    scala.collection.immutable.Seq keys = aggregate.groupingExpressions();
    for (int i = 0; i < keys.length(); i++) {
      Column column = origin(keys.apply(i));
      List offers = column == null ? new ArrayList()
          : ((OwnScan) column.relation.scan()).groupings;
      for (int j = 0; j < offers.size(); j++) {
        KeyGroupsAsked offer = (KeyGroupsAsked) offers.get(j);
        if (areAmong(offer.columns, column.relation, keys)) {
          choice(column.relation, offer);
        }
      }
    }
  }

  private boolean areAmong(List columns, DataSourceV2ScanRelation relation,
      scala.collection.immutable.Seq keys) {
    for (int i = 0; i < columns.size(); i++) {
      boolean found = false;
      for (int j = 0; j < keys.length(); j++) {
        Column column = origin(keys.apply(j));
        found = found || column != null && column.is(relation, columns.get(i));
      }
      if (!found) {
        return false;
      }
    }
    return true;
  }

  /** Returns what a relation is planned in; null: something else, for a join or grouping before. */
  private GroupsChoice choice(DataSourceV2ScanRelation relation, KeyGroupsAsked offer) {
    GroupsChoice known = (GroupsChoice) chosen.get(relation);
    if (known == null) {
      known = new GroupsChoice(offer);
      chosen.put(relation, known);
    }
    return known.offered.equals(offer) ? known : null;
  }

  /** A column of a scan. */
  private static final class Column {
    private final DataSourceV2ScanRelation relation;
    private final String name;

    Column(DataSourceV2ScanRelation relation, String name) {
      this.relation = relation;
      this.name = name;
    }

    boolean is(DataSourceV2ScanRelation other, Object column) {
      return relation == other && name.equals(column);
    }
  }
}
