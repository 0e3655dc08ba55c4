package arctic.spark;

import arctic.spark.catalog.DynamicOverwrite;
import arctic.spark.catalog.FormatSaves;
import arctic.spark.catalog.RewriteRowLevel;
import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.classic.SparkSession;

/**
 * What arctic.register(session) teaches a session, by configuration: spark.sql.extensions names it.
 *
 * So every session of a driver has it from its beginning, those of a Spark Connect server too, whose
 * clients have no JVM. Python is started by the first question, as for a catalog. Saves in our format
 * are handed over whole, for no builder of Python spreads their rows there.
 */
public final class Extensions extends scala.runtime.AbstractFunction1 {
  private static final String FORMAT = "arctic";
  private static final String NO_ENTRIES = "an entry of Spark's own catalog is no Arctic table; name "
      + "it in a catalog of Arctic, as in arctic.namespace.table, or by its path, as in "
      + "format('arctic').load('namespace.table')";

  public Object apply(Object given) {
    SparkSessionExtensions extensions = (SparkSessionExtensions) given;
    extensions.injectHintResolutionRule(new Unless(new KnownFormat.Install(FORMAT)));
    // Sessions with Hive of Spark 4.1.0 take no rules for hints, but learn the format so.
    extensions.injectResolutionRule(new Unless(new KnownFormat.Install(FORMAT)));
    extensions.injectOptimizerRule(new Unless(new OwnScans.Install(FORMAT, NO_ENTRIES)));
    extensions.injectPreCBORule(new Unless(new FilteredAggregates.Install()));
    extensions.injectOptimizerRule(new Unless(new DynamicOverwrite.Install()));
    extensions.injectOptimizerRule(new Unless(new RewriteRowLevel.Install()));
    extensions.injectOptimizerRule(new Unless(new FormatSaves.Install(FORMAT)));
    return scala.runtime.BoxedUnit.UNIT;
  }

  /** Gives a session a rule, unless it is set to have none of ours. */
  private static final class Unless extends scala.runtime.AbstractFunction1 {
    private static final String WANTED = "spark.arctic.ownScans";
    private final scala.runtime.AbstractFunction1 install;

    Unless(scala.runtime.AbstractFunction1 install) {
      this.install = install;
    }

    public Object apply(Object session) {
      scala.Option wanted = ((SparkSession) session).conf().getOption(WANTED);
      boolean none = wanted.isDefined() && "false".equals(wanted.get());
      return none ? new Nothing() : install.apply(session);
    }
  }

  /** A rule that leaves every plan as it is. */
  static final class Nothing extends Rule {
    public String ruleName() {
      return "arctic.spark.Nothing";
    }

    public TreeNode apply(TreeNode plan) {
      return plan;
    }
  }
}
