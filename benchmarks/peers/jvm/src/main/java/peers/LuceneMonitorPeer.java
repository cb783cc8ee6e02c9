package peers;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.lucene.analysis.core.KeywordAnalyzer;
import org.apache.lucene.document.Document;
import org.apache.lucene.document.DoublePoint;
import org.apache.lucene.document.Field;
import org.apache.lucene.document.StringField;
import org.apache.lucene.index.Term;
import org.apache.lucene.monitor.Monitor;
import org.apache.lucene.monitor.MonitorQuery;
import org.apache.lucene.monitor.MultipassTermFilteredPresearcher;
import org.apache.lucene.monitor.QueryMatch;
import org.apache.lucene.search.BooleanClause.Occur;
import org.apache.lucene.search.BooleanQuery;
import org.apache.lucene.search.PrefixQuery;
import org.apache.lucene.search.Query;
import org.apache.lucene.search.TermQuery;

/**
 * Lucene Monitor with four passes of term pre-search; a decoded document in, ids out.
 *
 * <p>Every value is a term, so that equalities can be pre-searched; a number is a point as well.
 */
final class LuceneMonitorPeer implements Peer {
    private static final int BATCH = 5_000;
    private static final int PASSES = 4;
    private final Monitor monitor =
            new Monitor(new KeywordAnalyzer(), new MultipassTermFilteredPresearcher(PASSES));
    private final List<MonitorQuery> waiting = new ArrayList<>();

    LuceneMonitorPeer() throws java.io.IOException {}

    @Override
    public boolean add(String id, JsonNode any) throws Exception {
        BooleanQuery.Builder either = new BooleanQuery.Builder();
        for (JsonNode all : any) {
            BooleanQuery.Builder both = new BooleanQuery.Builder();
            for (JsonNode condition : all) {
                if (condition.has("not_in")) {
                    return false;
                }
                both.add(query(condition), Occur.FILTER);
            }
            either.add(both.build(), Occur.SHOULD);
        }
        waiting.add(new MonitorQuery(id, either.build(), null, Map.of()));
        if (waiting.size() >= BATCH) {
            finish();
        }
        return true;
    }

    @Override
    public void finish() throws Exception {
        monitor.register(waiting);
        waiting.clear();
    }

    @Override
    public Object prepare(JsonNode attributes) {
        Document document = new Document();
        attributes.properties().forEach(entry -> {
            JsonNode value = entry.getValue();
            document.add(new StringField(entry.getKey(), value.asText(), Field.Store.NO));
            if (value.isNumber()) {
                document.add(new DoublePoint(entry.getKey() + "#", value.asDouble()));
            }
        });
        return document;
    }

    @Override
    public int match(Object publication) throws Exception {
        return monitor.match((Document) publication, QueryMatch.SIMPLE_MATCHER)
                .getMatches()
                .size();
    }

    @Override
    public void close() throws Exception {
        monitor.close();
    }

    private static Query query(JsonNode condition) {
        String name = condition.get("attribute").asText();
        if (condition.has("prefix")) {
            return new PrefixQuery(new Term(name, condition.get("prefix").asText()));
        }
        if (condition.has("in")) {
            BooleanQuery.Builder either = new BooleanQuery.Builder();
            for (JsonNode value : condition.get("in")) {
                either.add(new TermQuery(new Term(name, value.asText())), Occur.SHOULD);
            }
            return either.build();
        }
        JsonNode range = condition.get("range");
        return DoublePoint.newRangeQuery(name + "#", low(range), high(range));
    }

    private static double low(JsonNode range) {
        if (range.get("low").isNull()) {
            return Double.NEGATIVE_INFINITY;
        }
        double low = range.get("low").asDouble();
        return range.get("low_open").asBoolean() ? Math.nextUp(low) : low;
    }

    private static double high(JsonNode range) {
        if (range.get("high").isNull()) {
            return Double.POSITIVE_INFINITY;
        }
        double high = range.get("high").asDouble();
        return range.get("high_open").asBoolean() ? Math.nextDown(high) : high;
    }
}
