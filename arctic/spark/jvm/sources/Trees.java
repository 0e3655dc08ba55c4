package arctic.spark;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;

/** A rule that puts other nodes into a plan, and what Scala's collections need for that. */
public abstract class Trees extends Rule {
  /** Returns what stands where a node was, with all below it; null: look at its children. */
  public abstract LogicalPlan inPlaceOf(LogicalPlan node);

  public TreeNode apply(TreeNode plan) {
    return rewritten((LogicalPlan) plan);
  }

  public final LogicalPlan rewritten(LogicalPlan plan) {
    LogicalPlan other = inPlaceOf(plan);
    if (other != null) {
      return other;
    }
    scala.collection.immutable.Seq children = plan.children();
    ArrayList changed = new ArrayList();
    boolean same = true;
    for (int i = 0; i < children.length(); i++) {
      LogicalPlan child = (LogicalPlan) children.apply(i);
      LogicalPlan next = rewritten(child);
      same = same && next == child;
      changed.add(next);
    }
    return same ? plan : (LogicalPlan) plan.withNewChildren(seq(changed));
  }

  /** Returns a node with another field: copy() has another arity in each Spark, makeCopy not. */
  public static LogicalPlan with(LogicalPlan node, int field, Object value) {
    scala.Product plan = (scala.Product) node;
    Object[] fields = new Object[plan.productArity()];
    for (int i = 0; i < fields.length; i++) {
      fields[i] = i == field ? value : plan.productElement(i);
    }
    return (LogicalPlan) node.makeCopy(fields);
  }

  public static scala.collection.immutable.Seq seq(List items) {
    return scala.jdk.javaapi.CollectionConverters.asScala(items).toSeq();
  }

  public static scala.collection.immutable.Map map(Map items) {
    return (scala.collection.immutable.Map) scala.collection.immutable.Map$.MODULE$.from(
        scala.jdk.javaapi.CollectionConverters.asScala(items));
  }
}
