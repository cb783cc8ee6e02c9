package peers;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import software.amazon.event.ruler.Machine;

/** Event Ruler: one rule per conjunction under the same name; JSON text in, names of rules out. */
final class EventRulerPeer implements Peer {
    private static final ObjectMapper JSON = new ObjectMapper();
    private final Machine machine = new Machine();

    @Override
    public boolean add(String id, JsonNode any) throws Exception {
        for (JsonNode all : any) {
            ObjectNode rule = JSON.createObjectNode();
            for (JsonNode condition : all) {
                rule.set(condition.get("attribute").asText(), pattern(condition));
            }
            machine.addRule(id, rule.toString());
        }
        return true;
    }

    @Override
    public Object prepare(JsonNode attributes) {
        return attributes.toString();
    }

    @Override
    public int match(Object publication) throws Exception {
        return machine.rulesForJSONEvent((String) publication).size();
    }

    private static ArrayNode pattern(JsonNode condition) {
        ArrayNode values = JSON.createArrayNode();
        if (condition.has("in")) {
            for (JsonNode value : condition.get("in")) {
                if (value.isNumber()) {
                    values.addObject().putArray("numeric").add("=").add(value);
                } else {
                    values.add(value);
                }
            }
        } else if (condition.has("prefix")) {
            values.addObject().set("prefix", condition.get("prefix"));
        } else if (condition.has("not_in")) {
            values.addObject().set("anything-but", condition.get("not_in"));
        } else {
            JsonNode range = condition.get("range");
            ArrayNode numeric = values.addObject().putArray("numeric");
            if (!range.get("low").isNull()) {
                numeric.add(range.get("low_open").asBoolean() ? ">" : ">=").add(range.get("low"));
            }
            if (!range.get("high").isNull()) {
                numeric.add(range.get("high_open").asBoolean() ? "<" : "<=").add(range.get("high"));
            }
        }
        return values;
    }
}
