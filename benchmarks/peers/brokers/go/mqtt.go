package main

import (
	"fmt"
	"os"

	mqtt "github.com/eclipse/paho.mqtt.golang"
)

type mqttSystem struct{ task *Task }

func newMQTT(task *Task) System { return &mqttSystem{task} }

func (s *mqttSystem) connect(address, name string) (mqtt.Client, error) {
	options := mqtt.NewClientOptions().AddBroker("tcp://" + address)
	options.SetClientID(fmt.Sprint(name, "-", os.Getpid())).SetAutoReconnect(false)
	client := mqtt.NewClient(options)
	done := client.Connect()
	done.Wait()
	return client, done.Error()
}

func (s *mqttSystem) subscribe(name, topic string, take func([]byte)) (func(), error) {
	client, err := s.connect(s.task.Subscribe, name)
	if err != nil {
		return nil, err
	}
	done := client.Subscribe(topic, 0, func(_ mqtt.Client, message mqtt.Message) {
		take(message.Payload())
	})
	done.Wait()
	return func() { client.Disconnect(0) }, done.Error()
}

func (s *mqttSystem) Receive(client int, own []Subscription, deliver func(int32, []int32)) (func(), error) {
	return s.subscribe(fmt.Sprint("receiver-", client), "records", filtering(own, deliver))
}

func (s *mqttSystem) Ping(deliver func()) (func(), error) {
	return s.subscribe("ping-receiver", "pings", func([]byte) { deliver() })
}

func (s *mqttSystem) Sender() (Sender, error) {
	client, err := s.connect(s.task.Publish, "publisher")
	return &mqttSender{client}, err
}

type mqttSender struct{ client mqtt.Client }

func (s *mqttSender) Send(number int32, content *Content) error {
	done := s.client.Publish(subjectOf(content), 0, false, encoded(number, content))
	done.Wait()
	return done.Error()
}

func (s *mqttSender) Close() { s.client.Disconnect(0) }
