// Measures hypermatch: `peer hypermatch SUBSCRIPTIONS PUBLICATIONS COUNT FILL_SECONDS SECONDS`.
//
// Prints one line of JSON. Properties in, names of rules out. It compares texts and has no numeric
// ranges, and its rules have no alternatives, so that a disjunction is several rules; a rule that
// matches twice is counted once.
package main

import (
	"fmt"

	"sapwood/benchmarks/peers/measure"

	"github.com/SchwarzIT/hypermatch"
)

type engine struct {
	matcher *hypermatch.HyperMatch
}

func main() {
	measure.Main(&engine{hypermatch.NewHyperMatch()})
}

func (e *engine) Add(s measure.Subscription) (bool, error) {
	sets := make([]hypermatch.ConditionSet, 0, len(s.Any))
	for _, all := range s.Any {
		set := hypermatch.ConditionSet{}
		for _, c := range all {
			pattern, ok := patternOf(c)
			if !ok {
				return false, nil
			}
			set = append(set, hypermatch.Condition{Path: c.Attribute, Pattern: pattern})
		}
		sets = append(sets, set)
	}
	for _, set := range sets {
		if err := e.matcher.AddRule(s.ID, set); err != nil {
			return false, err
		}
	}
	return true, nil
}

func patternOf(c measure.Condition) (hypermatch.Pattern, bool) {
	switch {
	case c.In != nil:
		return either(hypermatch.PatternAnyOf, c.In), true
	case c.Prefix != nil:
		return hypermatch.Pattern{Type: hypermatch.PatternPrefix, Value: *c.Prefix}, true
	case c.NotIn != nil:
		return either(hypermatch.PatternAnythingBut, c.NotIn), true
	}
	return hypermatch.Pattern{}, false
}

// either is one equality where one value is enough, and a list of them otherwise.
func either(kind hypermatch.PatternType, values []any) hypermatch.Pattern {
	options := make([]hypermatch.Pattern, 0, len(values))
	for _, value := range values {
		options = append(options, hypermatch.Pattern{
			Type: hypermatch.PatternEquals, Value: fmt.Sprint(value),
		})
	}
	if len(options) == 1 && kind == hypermatch.PatternAnyOf {
		return options[0]
	}
	return hypermatch.Pattern{Type: kind, Sub: options}
}

func (e *engine) Prepare(attributes map[string]any) (any, error) {
	properties := make([]hypermatch.Property, 0, len(attributes))
	for name, value := range attributes {
		properties = append(properties, hypermatch.Property{
			Path: name, Values: []string{fmt.Sprint(value)},
		})
	}
	return properties, nil
}

func (e *engine) Match(publication any) (int, error) {
	found := e.matcher.Match(publication.([]hypermatch.Property))
	if len(found) < 2 {
		return len(found), nil
	}
	distinct := map[hypermatch.RuleIdentifier]struct{}{}
	for _, id := range found {
		distinct[id] = struct{}{}
	}
	return len(distinct), nil
}
