package main

import (
	"context"
	"fmt"
	"strconv"

	amqp "github.com/rabbitmq/amqp091-go"
)

// RabbitMQ with quorum queues: an exchange that copies to the queues of all clients, publications
// that are confirmed when they are stored, automatic acknowledgement. Clients filter.
type quorumSystem struct{ amqp *amqpSystem }

func newQuorum(task *Task) System { return &quorumSystem{&amqpSystem{task}} }

func (s *quorumSystem) connect(address, name string) (*amqp.Connection, *amqp.Channel, error) {
	connection, channel, err := s.amqp.dial(address)
	if err != nil {
		return nil, nil, err
	}
	return connection, channel, channel.ExchangeDeclare(name, "fanout", true, false, false, false, nil)
}

// One client with a queue of its own, which is there still when the server is started again.
func (s *quorumSystem) subscribe(name, queue string, take func([]byte)) (func(), error) {
	connection, channel, err := s.connect(s.amqp.task.Subscribe, name)
	if err != nil {
		return nil, err
	}
	kind := amqp.Table{"x-queue-type": "quorum"}
	if _, err := channel.QueueDeclare(queue, true, false, false, false, kind); err != nil {
		return nil, err
	}
	if err := channel.QueueBind(queue, "", name, false, nil); err != nil {
		return nil, err
	}
	came, err := channel.Consume(queue, "", true, false, false, false, nil)
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

func (s *quorumSystem) Receive(client int, own []Subscription, deliver func(int32, []int32)) (func(), error) {
	return s.subscribe("stored", "stored-"+strconv.Itoa(client), filtering(own, deliver))
}

func (s *quorumSystem) Ping(deliver func()) (func(), error) {
	return s.subscribe("stored-pings", "pings", func([]byte) { deliver() })
}

func (s *quorumSystem) Sender() (Sender, error) {
	connection, channel, err := s.connect(s.amqp.task.Publish, "stored")
	if err != nil {
		return nil, err
	}
	if err := channel.ExchangeDeclare("stored-pings", "fanout", true, false, false, false, nil); err != nil {
		return nil, err
	}
	if err := channel.Confirm(false); err != nil {
		return nil, err
	}
	sender := &quorumSender{connection: connection, channel: channel, refused: make(chan uint64, 1)}
	confirmed := channel.NotifyPublish(make(chan amqp.Confirmation, unacknowledged))
	go func() {
		for one := range confirmed {
			if !one.Ack {
				select {
				case sender.refused <- one.DeliveryTag:
				default:
				}
			}
		}
	}()
	return sender, nil
}

type quorumSender struct {
	connection *amqp.Connection
	channel    *amqp.Channel
	refused    chan uint64
}

func (s *quorumSender) Send(number int32, content *Content) error {
	select {
	case tag := <-s.refused:
		return fmt.Errorf("publication %d was not stored", tag)
	default:
	}
	name := "stored"
	if content == pingContent {
		name = "stored-pings"
	}
	message := amqp.Publishing{Body: encoded(number, content), DeliveryMode: amqp.Persistent}
	return s.channel.PublishWithContext(context.Background(), name, "", false, false, message)
}

func (s *quorumSender) Close() { s.connection.Close() }
