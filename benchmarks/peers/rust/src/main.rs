//! Measures the a-tree crate: `peers a-tree SUBSCRIPTIONS PUBLICATIONS COUNT FILL_SECONDS SECONDS`.
//!
//! Prints one line of JSON. Events are built before the clock starts; what is timed is the search.

use a_tree::{ATree, AttributeDefinition, Event};
use serde_json::{json, Map, Value};
use std::collections::BTreeMap;
use std::fs::{read_to_string, File};
use std::io::{BufRead, BufReader};
use std::time::Instant;

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Integer,
    Decimal,
    Text,
    Boolean,
}

type Kinds = BTreeMap<String, Kind>;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    assert!(
        arguments[1] == "a-tree",
        "no peer is called {}",
        arguments[1]
    );
    let wanted: usize = arguments[4].parse().expect("COUNT is a number");
    let fill_seconds: f64 = arguments[5].parse().expect("FILL_SECONDS is a number");
    let seconds: f64 = arguments[6].parse().expect("SECONDS is a number");
    let publications = attributes_of(&arguments[3]);
    let mut kinds = Kinds::new();
    for publication in &publications {
        note_publication(&mut kinds, publication);
    }
    let file = File::open(&arguments[2]).expect("the subscriptions can be read");
    let lines: Vec<Value> = BufReader::new(file)
        .lines()
        .take(wanted)
        .map(|line| serde_json::from_str(&line.expect("a line")).expect("JSON"))
        .collect();
    for line in &lines {
        note_subscription(&mut kinds, line);
    }
    let definitions: Vec<AttributeDefinition> = kinds.iter().map(definition).collect();
    let before = resident_bytes();
    let mut tree: ATree<u64> = ATree::new(&definitions).expect("attributes differ");
    let (mut added, mut inexpressible, mut build_s) = (0, 0, 0.0);
    for (number, line) in lines.iter().enumerate() {
        if build_s >= fill_seconds {
            break;
        }
        match expression(line, &kinds) {
            None => inexpressible += 1,
            Some(text) => {
                let begin = Instant::now();
                tree.insert(&(number as u64), &text).expect("an expression");
                build_s += begin.elapsed().as_secs_f64();
                added += 1;
            }
        }
    }
    let mut report = json!({
        "wanted": wanted, "added": added, "inexpressible": inexpressible, "build_s": build_s,
    });
    if added + inexpressible == wanted {
        let memory = resident_bytes() - before;
        let events: Vec<Event> = publications
            .iter()
            .map(|p| event(&tree, p, &kinds))
            .collect();
        measure(&tree, &events, seconds, &mut report);
        report["memory_bytes"] = json!(memory);
    }
    println!("{report}");
}

fn measure(tree: &ATree<u64>, events: &[Event], seconds: f64, report: &mut Value) {
    let found = |event| tree.search(event).expect("a search").matches().len();
    let matches: usize = events.iter().map(found).sum();
    let start = Instant::now();
    let mut took: Vec<f64> = Vec::new();
    for event in events.iter().cycle() {
        if !took.is_empty() && start.elapsed().as_secs_f64() >= seconds {
            break;
        }
        let begin = Instant::now();
        std::hint::black_box(tree.search(event).expect("a search").matches().len());
        took.push(begin.elapsed().as_secs_f64() * 1e6);
    }
    took.sort_by(f64::total_cmp);
    report["match_us"] = json!(took[took.len() / 2]);
    report["match_p99_us"] = json!(took[took.len() * 99 / 100]);
    report["publications"] = json!(events.len());
    report["matches"] = json!(matches);
}

fn attributes_of(path: &str) -> Vec<Map<String, Value>> {
    let text = read_to_string(path).expect("the publications can be read");
    text.lines()
        .map(|line| {
            let value: Value = serde_json::from_str(line).expect("JSON");
            value["attributes"].as_object().expect("attributes").clone()
        })
        .collect()
}

/// An attribute that has a decimal anywhere is decimal everywhere.
fn note(kinds: &mut Kinds, name: &str, value: &Value) {
    let kind = match value {
        Value::Bool(_) => Kind::Boolean,
        Value::String(_) => Kind::Text,
        Value::Number(number) if number.is_i64() => Kind::Integer,
        Value::Number(_) => Kind::Decimal,
        _ => return,
    };
    let known = kinds.entry(name.to_string()).or_insert(kind);
    if kind == Kind::Decimal {
        *known = kind;
    }
}

fn note_publication(kinds: &mut Kinds, publication: &Map<String, Value>) {
    for (name, value) in publication {
        note(kinds, name, value);
    }
}

fn note_subscription(kinds: &mut Kinds, line: &Value) {
    for condition in line["any"]
        .as_array()
        .into_iter()
        .flatten()
        .flat_map(|all| all.as_array().into_iter().flatten())
    {
        let name = condition["attribute"].as_str().expect("a name");
        for value in condition["in"].as_array().into_iter().flatten() {
            note(kinds, name, value);
        }
        for value in condition["not_in"].as_array().into_iter().flatten() {
            note(kinds, name, value);
        }
        if let Some(prefix) = condition.get("prefix") {
            note(kinds, name, prefix);
        }
        if let Some(range) = condition.get("range") {
            note(kinds, name, &range["low"]);
            note(kinds, name, &range["high"]);
        }
    }
}

fn definition((name, kind): (&String, &Kind)) -> AttributeDefinition {
    match kind {
        Kind::Integer => AttributeDefinition::integer(name),
        Kind::Decimal => AttributeDefinition::float(name),
        Kind::Text => AttributeDefinition::string(name),
        Kind::Boolean => AttributeDefinition::boolean(name),
    }
}

/// The subscription in the crate's language; nothing where it has no words for a condition.
fn expression(line: &Value, kinds: &Kinds) -> Option<String> {
    let mut either = Vec::new();
    for all in line["any"].as_array()? {
        let mut both = Vec::new();
        for condition in all.as_array()? {
            both.push(condition_text(condition, kinds)?);
        }
        either.push(format!("({})", both.join(" and ")));
    }
    Some(either.join(" or "))
}

fn condition_text(condition: &Value, kinds: &Kinds) -> Option<String> {
    let name = condition["attribute"].as_str()?;
    let kind = kinds[name];
    if let Some(values) = condition.get("in") {
        let options: Vec<String> = values
            .as_array()?
            .iter()
            .map(|value| match value {
                Value::Bool(true) => name.to_string(),
                Value::Bool(false) => format!("not {name}"),
                other => format!("{name} = {}", literal(other, kind)),
            })
            .collect();
        return Some(format!("({})", options.join(" or ")));
    }
    if let Some(values) = condition.get("not_in") {
        let excluded: Vec<String> = values
            .as_array()?
            .iter()
            .map(|value| format!("{name} <> {}", literal(value, kind)))
            .collect();
        return Some(format!("({})", excluded.join(" and ")));
    }
    let range = condition.get("range")?;
    let mut ends = Vec::new();
    if !range["low"].is_null() {
        let sign = if range["low_open"] == true { ">" } else { ">=" };
        ends.push(format!("{name} {sign} {}", literal(&range["low"], kind)));
    }
    if !range["high"].is_null() {
        let sign = if range["high_open"] == true {
            "<"
        } else {
            "<="
        };
        ends.push(format!("{name} {sign} {}", literal(&range["high"], kind)));
    }
    Some(format!("({})", ends.join(" and ")))
}

fn literal(value: &Value, kind: Kind) -> String {
    match value {
        Value::String(text) => format!("'{text}'"),
        Value::Number(number) if kind == Kind::Decimal => plain(&number.to_string()),
        other => other.to_string(),
    }
}

/// A decimal without an exponent, which the language has no words for.
fn plain(text: &str) -> String {
    let (digits, scale) = match decimal(text) {
        (digits, 0) => (digits * 10, 1),
        (digits, scale) => (digits, scale as usize),
    };
    let padded = format!("{:0>width$}", digits.unsigned_abs(), width = scale + 1);
    let (whole, fraction) = padded.split_at(padded.len() - scale);
    format!("{}{whole}.{fraction}", if digits < 0 { "-" } else { "" })
}

fn event(tree: &ATree<u64>, publication: &Map<String, Value>, kinds: &Kinds) -> Event {
    let mut builder = tree.make_event();
    for (name, value) in publication {
        let done = match (kinds[name], value) {
            (Kind::Boolean, Value::Bool(truth)) => builder.with_boolean(name, *truth),
            (Kind::Text, Value::String(text)) => builder.with_string(name, text),
            (Kind::Integer, Value::Number(n)) => {
                builder.with_integer(name, n.as_i64().expect("an integer"))
            }
            (Kind::Decimal, Value::Number(n)) => {
                let (digits, scale) = decimal(&n.to_string());
                builder.with_float(name, digits, scale)
            }
            _ => panic!("{name} has values of different types"),
        };
        done.expect("an attribute of its type");
    }
    builder.build().expect("an event")
}

/// `1.25` as 125 and 2; `5e-06` as 5 and 6.
fn decimal(text: &str) -> (i64, u32) {
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits: i64 = format!("{whole}{fraction}").parse().expect("digits");
    let scale = fraction.len() as i64 - exponent.parse::<i64>().expect("an exponent");
    if scale >= 0 {
        (digits, scale as u32)
    } else {
        (digits * 10i64.pow(-scale as u32), 0)
    }
}

fn resident_bytes() -> u64 {
    let text = read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: u64 = text
        .split(' ')
        .nth(1)
        .and_then(|field| field.parse().ok())
        .unwrap_or(0);
    pages * 4096
}
