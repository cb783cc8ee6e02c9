package main

import (
	"encoding/json"
	"strings"
)

// Condition of a list that must all hold; benchmarks/peers/README.md says what its members mean.
type Condition struct {
	Attribute string   `json:"attribute"`
	In        []any    `json:"in"`
	NotIn     []string `json:"not_in"`
	Prefix    *string  `json:"prefix"`
	Range     *Range   `json:"range"`
}

// Range of numbers; an end that is absent is none.
type Range struct {
	Low      *float64 `json:"low"`
	High     *float64 `json:"high"`
	LowOpen  bool     `json:"low_open"`
	HighOpen bool     `json:"high_open"`
}

// Filter is what a client applies to all that comes: each of its subscriptions, one after the
// other, as one writes it where the server does not filter.
type Filter struct {
	own []Subscription
}

// Matches of a publication's JSON.
func (f *Filter) Matches(text []byte) ([]int32, error) {
	var record map[string]any
	if err := json.Unmarshal(text, &record); err != nil {
		return nil, err
	}
	var found []int32
	for i := range f.own {
		if accepts(f.own[i].Any, record) {
			found = append(found, f.own[i].Number)
		}
	}
	return found, nil
}

func accepts(any [][]Condition, record map[string]any) bool {
	for _, all := range any {
		if holdAll(all, record) {
			return true
		}
	}
	return false
}

func holdAll(all []Condition, record map[string]any) bool {
	for i := range all {
		value, there := record[all[i].Attribute]
		if !there || !all[i].holds(value) {
			return false
		}
	}
	return true
}

func (c *Condition) holds(value any) bool {
	if c.In != nil {
		for _, one := range c.In {
			if one == value {
				return true
			}
		}
		return false
	}
	if c.Range != nil {
		number, is := value.(float64)
		return is && c.Range.has(number)
	}
	text, is := value.(string)
	if !is {
		return false
	}
	if c.Prefix != nil {
		return strings.HasPrefix(text, *c.Prefix)
	}
	for _, one := range c.NotIn {
		if one == text {
			return false
		}
	}
	return true
}

func (r *Range) has(number float64) bool {
	if r.Low != nil && (number < *r.Low || r.LowOpen && number == *r.Low) {
		return false
	}
	return r.High == nil || number < *r.High || !r.HighOpen && number == *r.High
}
