// Package measure runs an engine over the files of the protocol and prints one line of JSON.
package measure

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"sort"
	"strconv"
	"time"
)

// Condition is one of the conditions of a list that must all hold; a range has none of the members.
type Condition struct {
	Attribute string  `json:"attribute"`
	In        []any   `json:"in"`
	NotIn     []any   `json:"not_in"`
	Prefix    *string `json:"prefix"`
}

// Subscription accepts what satisfies all conditions of one of the lists.
type Subscription struct {
	ID  string        `json:"id"`
	Any [][]Condition `json:"any"`
}

// Peer is an engine under measurement.
type Peer interface {
	// Add one subscription; false if the engine cannot say it.
	Add(s Subscription) (bool, error)
	// Prepare a publication in the form that Match takes; not measured.
	Prepare(attributes map[string]any) (any, error)
	// Match tells how many subscriptions match.
	Match(publication any) (int, error)
}

type report struct {
	Wanted        int      `json:"wanted"`
	Added         int      `json:"added"`
	Inexpressible int      `json:"inexpressible"`
	BuildS        float64  `json:"build_s"`
	MatchUs       *float64 `json:"match_us,omitempty"`
	MatchP99Us    *float64 `json:"match_p99_us,omitempty"`
	Publications  *int     `json:"publications,omitempty"`
	Matches       *int     `json:"matches,omitempty"`
	MemoryBytes   *uint64  `json:"memory_bytes,omitempty"`
}

// Main measures with the arguments of the program, the name of the peer first.
func Main(engine Peer) {
	if err := run(engine, os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(engine Peer, arguments []string) error {
	numbers := make([]float64, 3)
	for i := range numbers {
		number, err := strconv.ParseFloat(arguments[2+i], 64)
		if err != nil {
			return err
		}
		numbers[i] = number
	}
	wanted, fill, seconds := int(numbers[0]), numbers[1], numbers[2]
	before := usedBytes()
	found := report{Wanted: wanted}
	err := eachLine(arguments[0], wanted, func(line []byte) (bool, error) {
		var s Subscription
		if err := json.Unmarshal(line, &s); err != nil {
			return false, err
		}
		begin := time.Now()
		added, err := engine.Add(s)
		found.BuildS += time.Since(begin).Seconds()
		if added {
			found.Added++
		} else {
			found.Inexpressible++
		}
		return found.BuildS < fill, err
	})
	if err == nil && found.Added > 0 && found.Added+found.Inexpressible == wanted {
		err = measureMatches(engine, arguments[1], seconds, before, &found)
	}
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(found)
}

func measureMatches(engine Peer, path string, seconds float64, before uint64, found *report) error {
	var publications []any
	err := eachLine(path, -1, func(line []byte) (bool, error) {
		var publication struct {
			Attributes map[string]any `json:"attributes"`
		}
		if err := json.Unmarshal(line, &publication); err != nil {
			return false, err
		}
		prepared, err := engine.Prepare(publication.Attributes)
		publications = append(publications, prepared)
		return true, err
	})
	if err != nil {
		return err
	}
	matches := 0
	for _, publication := range publications {
		count, err := engine.Match(publication)
		if err != nil {
			return err
		}
		matches += count
	}
	memory := usedBytes() - before
	var took []float64
	start := time.Now()
	for next := 0; len(took) == 0 || time.Since(start).Seconds() < seconds; next++ {
		begin := time.Now()
		if _, err := engine.Match(publications[next%len(publications)]); err != nil {
			return err
		}
		took = append(took, float64(time.Since(begin).Nanoseconds())/1e3)
	}
	sort.Float64s(took)
	count := len(publications)
	found.MatchUs, found.MatchP99Us = &took[len(took)/2], &took[len(took)*99/100]
	found.Publications, found.Matches, found.MemoryBytes = &count, &matches, &memory
	return nil
}

// eachLine calls do with lines of a file until it says no, the limit is reached, or the end.
func eachLine(path string, limit int, do func(line []byte) (bool, error)) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<24)
	for count := 0; count != limit && lines.Scan(); count++ {
		if more, err := do(lines.Bytes()); err != nil || !more {
			return err
		}
	}
	return lines.Err()
}

// usedBytes is what is in use once the garbage is gone.
func usedBytes() uint64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}
