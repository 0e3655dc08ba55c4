package arctic.spark.catalog;

import java.util.Map;
import java.util.Optional;
import org.apache.spark.sql.connector.catalog.Changelog;
import org.apache.spark.sql.connector.catalog.ChangelogContext;
import org.apache.spark.sql.connector.catalog.ChangelogRange;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** The catalog of a Spark that asks a table for what its commits did to rows. */
public final class ArcticCatalog extends CatalogOfTables {
  public Changelog loadChangelog(Identifier table, ChangelogContext context,
      CaseInsensitiveStringMap options) {
    ChangelogRange range = context.range();
    Object start = null;
    Optional end = Optional.empty();
    if (range instanceof ChangelogRange.VersionRange) {
      start = ((ChangelogRange.VersionRange) range).startingVersion();
      end = ((ChangelogRange.VersionRange) range).endingVersion();
    } else if (range instanceof ChangelogRange.TimestampRange) {
      start = Long.valueOf(((ChangelogRange.TimestampRange) range).startingTimestamp());
      end = ((ChangelogRange.TimestampRange) range).endingTimestamp();
    } else if (!(range instanceof ChangelogRange.UnboundedRange)) {
      throw new UnsupportedOperationException("changes of " + table + " in " + range
          + "; expected versions or timestamps");
    }
    boolean net = context.deduplicationMode() == ChangelogContext.DeduplicationMode.NET_CHANGES;
    Map answer = Answers.to(CatalogQuestions.changelog(options(), parts(table), start,
        range.startingBoundInclusive(), end.orElse(null), range.endingBoundInclusive(), net,
        context.computeUpdates()));
    return new TableChanges(
        new CatalogTable(name(), new CatalogProtocol.TableAnswer(answer)), net);
  }
}
