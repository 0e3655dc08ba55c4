package arctic.spark;

import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.UnsupportedFileSystemException;
import org.apache.hadoop.util.VersionInfo;
import org.apache.spark.sql.SparkSession;

/**
 * Files of a plan as Spark's own file systems reach them.
 *
 * Python says under which settings; what Spark's configuration says of one of them stays. Whether
 * that is enough (the classes, the keys, the network) is tried on the first file of each place
 * before Spark is given any: a query that has begun cannot turn back.
 */
public final class HadoopFiles {
  private static final int AT_A_TIME = 16;
  private static final int LONGEST = 300;
  /** A failure may take a while, with all that a client tries, and is not waited for each time. */
  private static final long AGAIN_NANOS = 300L * 1000 * 1000 * 1000;
  /** What came of it, by place: Hadoop's clients are kept by it too, whatever is set later. */
  private static final Map TRIED = new HashMap();

  private HadoopFiles() {}

  /** Returns the settings that Spark's configuration says nothing of. */
  public static Map unsaid(Map settings) {
    Configuration conf = SparkSession.active().sparkContext().hadoopConfiguration();
    Map unsaid = new HashMap();
    for (Iterator each = settings.entrySet().iterator(); each.hasNext();) {
      Map.Entry setting = (Map.Entry) each.next();
      if (conf.get((String) setting.getKey()) == null) {
        unsaid.put(setting.getKey(), setting.getValue());
      }
    }
    return unsaid;
  }

  /** Returns why Spark cannot read these files; null: it can. */
  public static String hindrance(List paths, Map settings) {
    Configuration conf = conf(settings);
    Set seen = new HashSet();
    for (int i = 0; i < paths.size(); i++) {
      String path = (String) paths.get(i);
      String place = place(path);
      if (place != null && seen.add(place)) {
        String hindrance = tried(path, place, settings, conf);
        if (hindrance != null) {
          return hindrance;
        }
      }
    }
    return null;
  }

  /** Returns the length of each file and when it was written; an error names one that is gone. */
  public static FileStatus[] found(List paths, Map settings) {
    Configuration conf = conf(settings);
    FileStatus[] found = new FileStatus[paths.size()];
    if (paths.isEmpty() || place((String) paths.get(0)) == null) {
      for (int i = 0; i < found.length; i++) {
        found[i] = status((String) paths.get(i), conf);
      }
      return found;
    }
    ExecutorService threads = Executors.newFixedThreadPool(Math.min(AT_A_TIME, found.length));
    try {
      List looks = new ArrayList();
      for (int i = 0; i < found.length; i++) {
        looks.add(threads.submit(new Look((String) paths.get(i), conf)));
      }
      for (int i = 0; i < found.length; i++) {
        found[i] = (FileStatus) ((Future) looks.get(i)).get();
      }
    } catch (ExecutionException error) {
      throw (RuntimeException) error.getCause();
    } catch (InterruptedException error) {
      throw new IllegalStateException(error);
    } finally {
      threads.shutdownNow();
    }
    return found;
  }

  private static Configuration conf(Map settings) {
    Configuration told = SparkSession.active().sparkContext().hadoopConfiguration();
    if (settings.isEmpty()) {
      return told;
    }
    Configuration conf = new Configuration(told);
    for (Iterator each = settings.entrySet().iterator(); each.hasNext();) {
      Map.Entry setting = (Map.Entry) each.next();
      conf.set((String) setting.getKey(), (String) setting.getValue());
    }
    return conf;
  }

  /** Returns scheme and host; null: a file of this machine. */
  private static String place(String path) {
    int end = path.indexOf("://");
    if (end < 0 || path.startsWith("file:")) {
      return null;
    }
    int slash = path.indexOf('/', end + 3);
    return slash < 0 ? path : path.substring(0, slash);
  }

  private static synchronized String tried(String path, String place, Map settings,
      Configuration conf) {
    Tried tried = (Tried) TRIED.get(place);
    if (tried != null && !tried.settings.equals(settings)) {
      return "its processes keep one client for " + place.substring(place.indexOf('@') + 1)
          + ", and have it with the keys and settings of another catalog";
    }
    if (tried == null || !tried.holds()) {
      tried = new Tried(settings, failure(path, place, conf));
      if (!lacking(place).equals(tried.hindrance)) { // without classes there is no client yet
        TRIED.put(place, tried);
      }
    }
    return tried.hindrance;
  }

  private static String failure(String path, String place, Configuration conf) {
    try {
      Path file = new Path(path);
      file.getFileSystem(conf).getFileStatus(file);
      return null;
    } catch (Exception error) {
      return lacksClasses(error) ? lacking(place) : shortened(error);
    } catch (LinkageError error) {
      return lacksClasses(error) ? lacking(place) : shortened(error);
    }
  }

  private static boolean lacksClasses(Throwable error) {
    for (Throwable each = error; each != null; each = each.getCause()) {
      if (each instanceof UnsupportedFileSystemException || each instanceof ClassNotFoundException
          || each instanceof NoClassDefFoundError) {
        return true;
      }
    }
    return false;
  }

  private static String lacking(String place) {
    String scheme = place.substring(0, place.indexOf(':'));
    String hadoops = VersionInfo.getVersion();
    String brings = scheme.startsWith("abfs") ? "org.apache.hadoop:hadoop-azure:" + hadoops
        : scheme.equals("s3a") ? "org.apache.hadoop:hadoop-aws:" + hadoops
        : scheme.equals("gs") ? "com.google.cloud.bigdataoss:gcs-connector"
        : "its connector for Hadoop " + hadoops;
    return "the classes for " + scheme + ":// are not on its class path; " + brings
        + " brings them";
  }

  private static String shortened(Throwable error) {
    String text = error.toString();
    int line = text.indexOf('\n');
    text = line < 0 ? text : text.substring(0, line);
    return text.length() <= LONGEST ? text : text.substring(0, LONGEST) + "...";
  }

  /** By its length Spark decides which part of a file a task reads: a manifest may be wrong. */
  static FileStatus status(String file, Configuration conf) {
    try {
      Path path = new Path(file);
      return path.getFileSystem(conf).getFileStatus(path);
    } catch (IOException error) {
      throw new IllegalArgumentException("cannot read file '" + file + "': " + error, error);
    }
  }

  static class Tried {
    final Map settings;
    final String hindrance;
    private final long at = System.nanoTime();

    Tried(Map settings, String hindrance) {
      this.settings = settings;
      this.hindrance = hindrance;
    }

    boolean holds() {
      return hindrance == null || System.nanoTime() - at < AGAIN_NANOS;
    }
  }

  static class Look implements Callable {
    private final String path;
    private final Configuration conf;

    Look(String path, Configuration conf) {
      this.path = path;
      this.conf = conf;
    }

    public Object call() {
      return status(path, conf);
    }
  }
}
