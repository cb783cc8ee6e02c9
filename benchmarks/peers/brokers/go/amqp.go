package main

import (
	"context"
	"fmt"
	"strconv"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

const (
	exchange  = "records"
	startTime = 30 * time.Second
)

type amqpSystem struct{ task *Task }

func newAMQP(task *Task) System { return &amqpSystem{task} }

func (s *amqpSystem) dial(address string) (*amqp.Connection, *amqp.Channel, error) {
	connection, err := amqp.Dial("amqp://guest:guest@" + address + "/")
	// A node that is starting listens before it lets anybody in.
	for begin := time.Now(); err != nil && time.Since(begin) < startTime; {
		time.Sleep(10 * time.Millisecond)
		connection, err = amqp.Dial("amqp://guest:guest@" + address + "/")
	}
	if err != nil {
		return nil, nil, err
	}
	channel, err := connection.Channel()
	return connection, channel, err
}

func (s *amqpSystem) connect(address string) (*amqp.Connection, *amqp.Channel, error) {
	connection, channel, err := s.dial(address)
	if err != nil {
		return nil, nil, err
	}
	return connection, channel, channel.ExchangeDeclare(exchange, "headers", false, false, false, false, nil)
}

// One client with a queue of its own, and a binding for each table of headers.
func (s *amqpSystem) subscribe(bindings []amqp.Table, take func([]byte)) (func(), error) {
	connection, channel, err := s.connect(s.task.Subscribe)
	if err != nil {
		return nil, err
	}
	queue, err := channel.QueueDeclare("", false, true, true, false, nil)
	if err != nil {
		return nil, err
	}
	for i, binding := range bindings {
		// The server handles them in order: the answer to the last one says that all are there.
		silent := i < len(bindings)-1
		if err := channel.QueueBind(queue.Name, "", exchange, silent, binding); err != nil {
			return nil, err
		}
	}
	came, err := channel.Consume(queue.Name, "", true, true, false, false, nil)
	if err != nil {
		return nil, err
	}
	go func() {
		for delivery := range came {
			take(delivery.Body)
		}
	}()
	return func() { connection.Close() }, nil
}

func (s *amqpSystem) Receive(_ int, own []Subscription, deliver func(int32, []int32)) (func(), error) {
	bindings := make([]amqp.Table, 0, len(own))
	for _, one := range own {
		binding := amqp.Table{"x-match": "all"}
		for _, condition := range one.Any[0] {
			binding[condition.Attribute] = header(condition.In[0])
		}
		bindings = append(bindings, binding)
	}
	return s.subscribe(bindings, func(body []byte) {
		number, err := strconv.Atoi(string(body[:digits]))
		if err != nil {
			panic(err)
		}
		deliver(int32(number), nil)
	})
}

func (s *amqpSystem) Ping(deliver func()) (func(), error) {
	binding := amqp.Table{"x-match": "all", "ping": int64(1)}
	return s.subscribe([]amqp.Table{binding}, func([]byte) { deliver() })
}

func (s *amqpSystem) Sender() (Sender, error) {
	connection, channel, err := s.connect(s.task.Publish)
	return &amqpSender{connection, channel}, err
}

// A value as a header; whole numbers have one type, whoever wrote them.
func header(value any) any {
	if number, is := value.(float64); is && number == float64(int64(number)) {
		return int64(number)
	}
	return value
}

type amqpSender struct {
	connection *amqp.Connection
	channel    *amqp.Channel
}

// Send the attributes as headers, and the padding as the body.
func (s *amqpSender) Send(number int32, content *Content) error {
	headers := make(amqp.Table, len(content.Attributes))
	for name, value := range content.Attributes {
		if name != "pad" {
			headers[name] = header(value)
		}
	}
	body := fmt.Appendf(nil, "%0*d%v", digits, number, content.Attributes["pad"])
	message := amqp.Publishing{Headers: headers, Body: body, DeliveryMode: amqp.Transient}
	return s.channel.PublishWithContext(context.Background(), exchange, "", false, false, message)
}

func (s *amqpSender) Close() { s.connection.Close() }
