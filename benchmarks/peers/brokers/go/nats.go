package main

import (
	"fmt"
	"strconv"

	"github.com/nats-io/nats.go"
)

const digits = 9 // of a number, before the JSON of a record

type natsSystem struct{ task *Task }

func newNATS(task *Task) System { return &natsSystem{task} }

func (s *natsSystem) connect(address string) (*nats.Conn, error) {
	return nats.Connect("nats://"+address, nats.NoReconnect())
}

func (s *natsSystem) subscribe(subject string, take func([]byte)) (func(), error) {
	connection, err := s.connect(s.task.Subscribe)
	if err != nil {
		return nil, err
	}
	subscription, err := connection.Subscribe(subject, func(message *nats.Msg) { take(message.Data) })
	if err != nil {
		return nil, err
	}
	// Receivers that filter may lag: what waits in the client is bounded by the load's window.
	if err := subscription.SetPendingLimits(-1, -1); err != nil {
		return nil, err
	}
	return connection.Close, connection.Flush()
}

func (s *natsSystem) Receive(_ int, own []Subscription, deliver func(int32, []int32)) (func(), error) {
	return s.subscribe("records", filtering(own, deliver))
}

// Receiving of all, and filtering in the client.
func filtering(own []Subscription, deliver func(int32, []int32)) func([]byte) {
	filter := &Filter{own}
	return func(data []byte) {
		number, err := strconv.Atoi(string(data[:digits]))
		if err != nil {
			panic(err)
		}
		told, err := filter.Matches(data[digits:])
		if err != nil {
			panic(err)
		}
		if len(told) > 0 {
			deliver(int32(number), told)
		}
	}
}

func encoded(number int32, content *Content) []byte {
	return fmt.Appendf(nil, "%0*d%s", digits, number, content.Raw)
}

func subjectOf(content *Content) string {
	if content == pingContent {
		return "pings"
	}
	return "records"
}

func (s *natsSystem) Ping(deliver func()) (func(), error) {
	return s.subscribe("pings", func([]byte) { deliver() })
}

func (s *natsSystem) Sender() (Sender, error) {
	connection, err := s.connect(s.task.Publish)
	return &natsSender{connection}, err
}

type natsSender struct{ connection *nats.Conn }

func (s *natsSender) Send(number int32, content *Content) error {
	return s.connection.Publish(subjectOf(content), encoded(number, content))
}

func (s *natsSender) Close() { s.connection.Close() }
