// Measures quamina: `peer quamina SUBSCRIPTIONS PUBLICATIONS COUNT FILL_SECONDS SECONDS`.
//
// Prints one line of JSON. JSON text in, names of patterns out. It has no numeric ranges.
package main

import (
	"encoding/json"
	"log"

	"sapwood/benchmarks/peers/measure"

	"quamina.net/go/quamina/v2"
)

type engine struct {
	matcher *quamina.Quamina
}

func main() {
	matcher, err := quamina.New()
	if err != nil {
		log.Fatal(err)
	}
	measure.Main(&engine{matcher})
}

func (e *engine) Add(s measure.Subscription) (bool, error) {
	patterns := make([]string, 0, len(s.Any))
	for _, all := range s.Any {
		pattern := map[string]any{}
		for _, c := range all {
			switch {
			case c.In != nil:
				pattern[c.Attribute] = c.In
			case c.Prefix != nil:
				pattern[c.Attribute] = []any{map[string]any{"prefix": *c.Prefix}}
			case c.NotIn != nil:
				pattern[c.Attribute] = []any{map[string]any{"anything-but": c.NotIn}}
			default:
				return false, nil
			}
		}
		text, err := json.Marshal(pattern)
		if err != nil {
			return false, err
		}
		patterns = append(patterns, string(text))
	}
	for _, pattern := range patterns {
		if err := e.matcher.AddPattern(s.ID, pattern); err != nil {
			return false, err
		}
	}
	return true, nil
}

func (e *engine) Prepare(attributes map[string]any) (any, error) {
	return json.Marshal(attributes)
}

func (e *engine) Match(publication any) (int, error) {
	found, err := e.matcher.MatchesForEvent(publication.([]byte))
	return len(found), err
}
