// Package main drives NATS, JetStream, mosquitto and RabbitMQ: `drive SYSTEM ROLE TASK`.
//
// Roles, orders and answers are those of Sapwood's workers (sapwood_lab.benchmarks.broker): orders
// are lines on standard input, answers lines of JSON on standard output.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"unsafe"
)

// Task is what is to be done; Sapwood's class of that name says what its members mean.
type Task struct {
	System    string `json:"system"`
	Publish   string `json:"publish"`
	Subscribe string `json:"subscribe"`
	Clients   int    `json:"clients"`
	Folder    string `json:"folder"`
}

// Subscription is a line of subscriptions.jsonl.
type Subscription struct {
	Number int32         `json:"number"`
	Client int           `json:"client"`
	Any    [][]Condition `json:"any"`
}

// Content is a line of publications.jsonl.
type Content struct {
	Attributes map[string]any `json:"attributes"`
	Deliveries int64          `json:"deliveries"`
	Raw        json.RawMessage
}

// Sender publishes publications, numbered ones of the load or pings.
type Sender interface {
	Send(number int32, content *Content) error
	Close()
}

// System is one kind of server.
type System interface {
	// Receive connects a client and returns when all it subscribes to is in force. Each delivery is
	// handed to deliver, with the subscriptions it is for, or none where they are not told.
	Receive(client int, own []Subscription, deliver func(number int32, told []int32)) (func(), error)
	// Sender connects a publisher.
	Sender() (Sender, error)
	// Ping connects a client that gets pings, and hands each to deliver; Sender's content for
	// pings is pingContent.
	Ping(deliver func()) (func(), error)
}

var pingContent = &Content{Attributes: map[string]any{"ping": int64(1)}, Raw: json.RawMessage(`{"ping":1}`)}

func main() {
	if err := run(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(name, role, path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var task Task
	if err := json.Unmarshal(text, &task); err != nil {
		return err
	}
	systems := map[string]func(*Task) System{
		"nats": newNATS, "jetstream": newJetStream, "jetstream-always": newJetStream,
		"mosquitto": newMQTT, "rabbitmq": newAMQP, "rabbitmq-quorum": newQuorum,
	}
	system := systems[name](&task)
	var orders map[string]func([]string) (map[string]any, error)
	switch role {
	case "receiving":
		orders, err = receiving(&task, system)
	case "publishing":
		orders, err = publishing(&task, system)
	default:
		orders = pinging(system)
	}
	if err != nil {
		return err
	}
	return obey(orders)
}

func obey(orders map[string]func([]string) (map[string]any, error)) error {
	lines := bufio.NewScanner(os.Stdin)
	out := json.NewEncoder(os.Stdout)
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		said, err := orders[words[0]](words[1:])
		if err != nil {
			said = map[string]any{"error": err.Error()}
		}
		if said == nil {
			said = map[string]any{}
		}
		if err := out.Encode(said); err != nil {
			return err
		}
	}
	return lines.Err()
}

// Calls take for each of the lines of one of the load's files.
func eachLine(task *Task, name string, take func(line []byte) error) error {
	file, err := os.Open(filepath.Join(task.Folder, name))
	if err != nil {
		return err
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		if err := take(lines.Bytes()); err != nil {
			return err
		}
	}
	return lines.Err()
}

func readSubscriptions(task *Task) ([][]Subscription, error) {
	found := make([][]Subscription, task.Clients)
	err := eachLine(task, "subscriptions.jsonl", func(line []byte) error {
		var one Subscription
		if err := json.Unmarshal(line, &one); err != nil {
			return err
		}
		found[one.Client] = append(found[one.Client], one)
		return nil
	})
	return found, err
}

func readContents(task *Task) ([]*Content, error) {
	var found []*Content
	err := eachLine(task, "publications.jsonl", func(line []byte) error {
		var raw struct {
			Attributes json.RawMessage `json:"attributes"`
			Deliveries int64           `json:"deliveries"`
		}
		if err := json.Unmarshal(line, &raw); err != nil {
			return err
		}
		one := &Content{Deliveries: raw.Deliveries, Raw: append(json.RawMessage(nil), raw.Attributes...)}
		decoder := json.NewDecoder(strings.NewReader(string(raw.Attributes)))
		decoder.UseNumber()
		if err := decoder.Decode(&one.Attributes); err != nil {
			return err
		}
		for name, value := range one.Attributes {
			if number, is := value.(json.Number); is {
				one.Attributes[name] = plain(number)
			}
		}
		found = append(found, one)
		return nil
	})
	return found, err
}

// A whole number as int64, any other as float64.
func plain(number json.Number) any {
	if whole, err := number.Int64(); err == nil {
		return whole
	}
	broken, _ := number.Float64()
	return broken
}

// The deliveries so far, shared between processes.
func progress(task *Task) (*int64, error) {
	file, err := os.OpenFile(filepath.Join(task.Folder, "progress"), os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := syscall.Mmap(int(file.Fd()), 0, 8, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		return nil, err
	}
	return (*int64)(unsafe.Pointer(&data[0])), nil
}
