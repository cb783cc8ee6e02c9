package main

import (
	"fmt"

	"github.com/nats-io/nats.go"
)

// How many publications may wait for their acknowledgement: more than the load has under way.
const unacknowledged = 1 << 14

// JetStream: a stream in files, and a consumer of each client that begins with what is new and
// acknowledges nothing. Clients filter.
type jetStreamSystem struct{ nats *natsSystem }

func newJetStream(task *Task) System { return &jetStreamSystem{&natsSystem{task}} }

func (s *jetStreamSystem) connect(address string) (*nats.Conn, nats.JetStreamContext, error) {
	connection, err := s.nats.connect(address)
	if err != nil {
		return nil, nil, err
	}
	stream, err := connection.JetStream(nats.PublishAsyncMaxPending(unacknowledged))
	if err != nil {
		return nil, nil, err
	}
	// Everybody says so; who comes second finds it there.
	_, err = stream.AddStream(&nats.StreamConfig{
		Name: "records", Subjects: []string{"records", "pings"}, Storage: nats.FileStorage,
	})
	return connection, stream, err
}

func (s *jetStreamSystem) subscribe(subject string, take func([]byte)) (func(), error) {
	connection, stream, err := s.connect(s.nats.task.Subscribe)
	if err != nil {
		return nil, err
	}
	subscription, err := stream.Subscribe(
		subject, func(message *nats.Msg) { take(message.Data) },
		nats.OrderedConsumer(), nats.DeliverNew(),
	)
	if err != nil {
		return nil, err
	}
	if err := subscription.SetPendingLimits(-1, -1); err != nil {
		return nil, err
	}
	return connection.Close, connection.Flush()
}

func (s *jetStreamSystem) Receive(_ int, own []Subscription, deliver func(int32, []int32)) (func(), error) {
	return s.subscribe("records", filtering(own, deliver))
}

func (s *jetStreamSystem) Ping(deliver func()) (func(), error) {
	return s.subscribe("pings", func([]byte) { deliver() })
}

func (s *jetStreamSystem) Sender() (Sender, error) {
	connection, stream, err := s.connect(s.nats.task.Publish)
	return &jetStreamSender{connection, stream}, err
}

type jetStreamSender struct {
	connection *nats.Conn
	stream     nats.JetStreamContext
}

// Send without waiting; the stream acknowledges what it has stored, and what it refuses is an error.
func (s *jetStreamSender) Send(number int32, content *Content) error {
	stored, err := s.stream.PublishAsync(subjectOf(content), encoded(number, content))
	if err != nil {
		return err
	}
	select {
	case err := <-stored.Err():
		return fmt.Errorf("a publication was not stored: %w", err)
	default:
		return nil
	}
}

func (s *jetStreamSender) Close() { s.connection.Close() }
