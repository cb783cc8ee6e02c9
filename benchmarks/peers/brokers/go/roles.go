package main

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"
)

const (
	chunk      = 64
	nap        = 100 * time.Microsecond
	pingEvery  = time.Millisecond
	patience   = 10 * time.Second
	untold     = int32(-1)
	monotonic  = 1
	lineNumber = 20 // bytes of a line of what was received
)

// The monotonic clock that all processes share, and Go's own at the same moment.
var clockBase, clockStart = readClock()

func readClock() (int64, time.Time) {
	var now syscall.Timespec
	start := time.Now()
	syscall.Syscall(syscall.SYS_CLOCK_GETTIME, monotonic, uintptr(unsafe.Pointer(&now)), 0)
	return now.Nano(), start
}

func nowNs() int64 { return clockBase + int64(time.Since(clockStart)) }

type line struct {
	timeNs       int64
	number       int32
	client       int32
	subscription int32
}

type inbox struct {
	mutex sync.Mutex
	lines []line
}

func receiving(task *Task, system System) (map[string]func([]string) (map[string]any, error), error) {
	own, err := readSubscriptions(task)
	if err != nil {
		return nil, err
	}
	came, err := progress(task)
	if err != nil {
		return nil, err
	}
	inboxes := make([]inbox, task.Clients)
	var ends []func()
	subscribe := func([]string) (map[string]any, error) {
		for _, end := range ends {
			end()
		}
		ends = nil
		begin := time.Now()
		for client := range own {
			box := &inboxes[client]
			end, err := system.Receive(client, own[client], func(number int32, told []int32) {
				now := nowNs()
				box.mutex.Lock()
				if told == nil {
					box.lines = append(box.lines, line{now, number, int32(client), untold})
				}
				for _, subscription := range told {
					box.lines = append(box.lines, line{now, number, int32(client), subscription})
				}
				box.mutex.Unlock()
				atomic.AddInt64(came, 1)
			})
			if err != nil {
				return nil, err
			}
			ends = append(ends, end)
		}
		return map[string]any{"seconds": time.Since(begin).Seconds()}, nil
	}
	collect := func(arguments []string) (map[string]any, error) {
		count, err := write(arguments[0], inboxes)
		return map[string]any{"lines": count}, err
	}
	return map[string]func([]string) (map[string]any, error){"subscribe": subscribe, "collect": collect}, nil
}

func write(path string, inboxes []inbox) (int, error) {
	file, err := os.Create(path)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	out, count := bufio.NewWriter(file), 0
	for i := range inboxes {
		inboxes[i].mutex.Lock()
		lines := inboxes[i].lines
		inboxes[i].lines = nil
		inboxes[i].mutex.Unlock()
		count += len(lines)
		for _, one := range lines {
			var data [lineNumber]byte
			binary.LittleEndian.PutUint64(data[0:], uint64(one.timeNs))
			binary.LittleEndian.PutUint32(data[8:], uint32(one.number))
			binary.LittleEndian.PutUint32(data[12:], uint32(one.client))
			binary.LittleEndian.PutUint32(data[16:], uint32(one.subscription))
			if _, err := out.Write(data[:]); err != nil {
				return count, err
			}
		}
	}
	return count, out.Flush()
}

func publishing(task *Task, system System) (map[string]func([]string) (map[string]any, error), error) {
	contents, err := readContents(task)
	if err != nil {
		return nil, err
	}
	came, err := progress(task)
	if err != nil {
		return nil, err
	}
	var sender Sender
	send := func(number, count int) error {
		for i := number; i < number+count; i++ {
			if err := sender.Send(int32(i), contents[i%len(contents)]); err != nil {
				return err
			}
		}
		return nil
	}
	connect := func([]string) (map[string]any, error) {
		if sender != nil {
			sender.Close()
		}
		sender, err = system.Sender()
		return nil, err
	}
	flood := func(arguments []string) (map[string]any, error) {
		first, err := strconv.Atoi(arguments[0])
		if err != nil {
			return nil, err
		}
		seconds, err := strconv.ParseFloat(arguments[1], 64)
		if err != nil {
			return nil, err
		}
		window, err := strconv.Atoi(arguments[2])
		if err != nil {
			return nil, err
		}
		// The deliveries that must have come before a number is sent, at that modulo window.
		needed := make([]int64, window)
		total := atomic.LoadInt64(came)
		for i := range needed {
			needed[i] = total
		}
		begin, number := nowNs(), first
		end := begin + int64(seconds*1e9)
		for nowNs() < end {
			some, arrived := 0, atomic.LoadInt64(came)
			for some < chunk && needed[(number+some)%window] <= arrived {
				total += contents[(number+some)%len(contents)].Deliveries
				needed[(number+some)%window] = total
				some++
			}
			if some == 0 {
				time.Sleep(nap)
				continue
			}
			if err := send(number, some); err != nil {
				return nil, err
			}
			number += some
		}
		return map[string]any{"count": number - first, "begin_ns": begin}, nil
	}
	schedule := func(arguments []string) (map[string]any, error) {
		var first, count int
		var start int64
		var rate float64
		text := fmt.Sprint(arguments[0], " ", arguments[1], " ", arguments[2], " ", arguments[3])
		if _, err := fmt.Sscan(text, &first, &count, &rate, &start); err != nil {
			return nil, err
		}
		step := 1e9 / rate
		for sent := 0; sent < count; {
			due := min(count, int(float64(nowNs()-start)/step)+1)
			if due <= sent {
				time.Sleep(time.Duration(start + int64(float64(sent)*step) - nowNs()))
				continue
			}
			if err := send(first+sent, due-sent); err != nil {
				return nil, err
			}
			sent = due
		}
		return map[string]any{"count": count}, nil
	}
	return map[string]func([]string) (map[string]any, error){
		"connect": connect, "flood": flood, "schedule": schedule,
	}, nil
}

func pinging(system System) map[string]func([]string) (map[string]any, error) {
	var sender Sender
	end := func() {}
	arrivals := make(chan int64, 1<<20)
	connect := func([]string) (map[string]any, error) {
		end()
		if sender != nil {
			sender.Close()
		}
		var err error
		if end, err = system.Ping(func() { arrivals <- nowNs() }); err != nil {
			return nil, err
		}
		sender, err = system.Sender()
		return nil, err
	}
	ping := func(arguments []string) (map[string]any, error) {
		seconds, err := strconv.ParseFloat(arguments[0], 64)
		if err != nil {
			return nil, err
		}
		count := int(seconds * float64(time.Second) / float64(pingEvery))
		start := nowNs()
		failed := make(chan error, 1)
		go func() {
			for i := 0; i < count; i++ {
				time.Sleep(time.Duration(start + int64(i)*int64(pingEvery) - nowNs()))
				if err := sender.Send(int32(i), pingContent); err != nil {
					failed <- err
					return
				}
			}
		}()
		var longest int64
		arrived := 0
		deadline := time.After(time.Duration(seconds*float64(time.Second)) + patience)
		for waiting := true; waiting && arrived < count; {
			select {
			case at := <-arrivals:
				longest = max(longest, at-start-int64(arrived)*int64(pingEvery))
				arrived++
			case err := <-failed:
				return nil, err
			case <-deadline:
				longest = max(longest, nowNs()-start-int64(arrived)*int64(pingEvery))
				waiting = false
			}
		}
		return map[string]any{
			"longest_ms": float64(longest) / 1e6, "count": count, "lost": count - arrived,
		}, nil
	}
	return map[string]func([]string) (map[string]any, error){"connect": connect, "ping": ping}
}
