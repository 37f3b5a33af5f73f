// Drives a gateway with the last official Go client of the 0.3 line; prints what it saw as one JSON object.
//
// Arguments: base URL, credential, transport (JSONRPC, GRPC; this client has no other).
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/a2aproject/a2a-go/a2a"
	"github.com/a2aproject/a2a-go/a2aclient"
	"github.com/a2aproject/a2a-go/a2aclient/agentcard"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

type credential struct {
	a2aclient.PassthroughInterceptor
	token string
}

func (c credential) Before(ctx context.Context, req *a2aclient.Request) (context.Context, error) {
	req.Meta.Append("authorization", "Bearer "+c.token)
	return ctx, nil
}

func brief(event a2a.Event) string {
	switch e := event.(type) {
	case *a2a.Task:
		return "task " + string(e.Status.State)
	case *a2a.TaskStatusUpdateEvent:
		if e.Final {
			return "status " + string(e.Status.State) + " final"
		}
		return "status " + string(e.Status.State)
	case *a2a.TaskArtifactUpdateEvent:
		return "artifact"
	default:
		return fmt.Sprintf("%T", event)
	}
}

// said is what an error says, with its name in the protocol's list where the client found it.
func said(err error) string {
	switch {
	case err == nil:
		return "nothing"
	case errors.Is(err, a2a.ErrTaskNotFound):
		return "TaskNotFound: " + err.Error()
	case errors.Is(err, a2a.ErrInvalidParams):
		return "InvalidParams: " + err.Error()
	case errors.Is(err, a2a.ErrUnsupportedOperation):
		return "UnsupportedOperation: " + err.Error()
	default:
		return err.Error()
	}
}

type peer struct {
	ctx    context.Context
	client *a2aclient.Client
}

func params(text string, wait bool, task *a2a.Task) *a2a.MessageSendParams {
	message := a2a.NewMessage(a2a.MessageRoleUser, a2a.TextPart{Text: text})
	if task != nil {
		message = a2a.NewMessageForTask(a2a.MessageRoleUser, task, a2a.TextPart{Text: text})
	}
	return &a2a.MessageSendParams{Message: message, Config: &a2a.MessageSendConfig{Blocking: &wait}}
}

func (p peer) send(text string, wait bool, task *a2a.Task) (*a2a.Task, error) {
	result, err := p.client.SendMessage(p.ctx, params(text, wait, task))
	if err != nil {
		return nil, fmt.Errorf("send %s: %w", text, err)
	}
	answer, ok := result.(*a2a.Task)
	if !ok {
		return nil, fmt.Errorf("the answer to %s is a %T", text, result)
	}
	return answer, nil
}

// watch reads a stream to its end, or only its first event.
func watch(events func(func(a2a.Event, error) bool), once bool) ([]string, error) {
	seen := []string{}
	for event, err := range events {
		if err != nil {
			return nil, fmt.Errorf("after %v: %w", seen, err)
		}
		seen = append(seen, brief(event))
		if once {
			break
		}
	}
	return seen, nil
}

func connect(ctx context.Context, url, token, transport string) (*a2aclient.Client, int, error) {
	card, err := agentcard.NewResolver(http.DefaultClient).Resolve(ctx, url)
	if err != nil {
		return nil, 0, fmt.Errorf("card: %w", err)
	}
	offered := 0
	kept := []a2a.AgentInterface{}
	for _, each := range append(card.AdditionalInterfaces, a2a.AgentInterface{Transport: card.PreferredTransport, URL: card.URL}) {
		if string(each.Transport) == transport {
			offered++
			kept = append(kept, each)
		}
	}
	client, err := a2aclient.NewFromEndpoints(ctx, kept,
		a2aclient.WithInterceptors(credential{token: token}),
		a2aclient.WithGRPCTransport(grpc.WithTransportCredentials(insecure.NewCredentials())))
	return client, offered, err
}

func run(url, token, transport string) (map[string]any, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Second)
	defer cancel()
	client, offered, err := connect(ctx, url, token, transport)
	if err != nil {
		return nil, err
	}
	p := peer{ctx: ctx, client: client}
	seen := map[string]any{"offered": offered}

	done, err := p.send("echo", true, nil)
	if err != nil {
		return nil, err
	}
	texts := []string{}
	for _, artifact := range done.Artifacts {
		for _, part := range artifact.Parts {
			if text, ok := part.(a2a.TextPart); ok {
				texts = append(texts, text.Text)
			}
		}
	}
	seen["send"] = []any{done.Status.State, texts}
	if seen["stream"], err = watch(client.SendStreamingMessage(ctx, params("chunks", true, nil)), false); err != nil {
		return nil, err
	}

	slow, err := p.send("slow", false, nil)
	if err != nil {
		return nil, err
	}
	first, err := watch(client.ResubscribeToTask(ctx, &a2a.TaskIDParams{ID: slow.ID}), true)
	if err != nil {
		return nil, err
	}
	rest, err := watch(client.ResubscribeToTask(ctx, &a2a.TaskIDParams{ID: slow.ID}), false)
	if err != nil {
		return nil, err
	}
	seen["subscribe"] = append(first, rest...)

	asked, err := p.send("ask", true, nil)
	if err != nil {
		return nil, err
	}
	answered, err := p.send("that", true, asked)
	if err != nil {
		return nil, err
	}
	seen["ask"] = []any{asked.Status.State, answered.Status.State, asked.ID == answered.ID}

	idle, err := p.send("wait", false, nil)
	if err != nil {
		return nil, err
	}
	canceled, err := client.CancelTask(ctx, &a2a.TaskIDParams{ID: idle.ID})
	if err != nil {
		return nil, fmt.Errorf("cancel: %w", err)
	}
	one := 1
	got, err := client.GetTask(ctx, &a2a.TaskQueryParams{ID: idle.ID, HistoryLength: &one})
	if err != nil {
		return nil, fmt.Errorf("get: %w", err)
	}
	seen["cancel"] = []any{canceled.Status.State, got.Status.State, len(got.History)}

	push := func(address string) *a2a.TaskPushConfig {
		return &a2a.TaskPushConfig{TaskID: slow.ID, Config: a2a.PushConfig{ID: "mine", URL: address}}
	}
	made, err := client.SetTaskPushConfig(ctx, push("https://127.0.0.1:1029/hook"))
	if err != nil {
		return nil, fmt.Errorf("push: %w", err)
	}
	read, err := client.GetTaskPushConfig(ctx, &a2a.GetTaskPushConfigParams{TaskID: slow.ID, ConfigID: "mine"})
	if err != nil {
		return nil, fmt.Errorf("get push: %w", err)
	}
	seen["push"] = []any{made.Config.ID, read.Config.URL}
	_, err = client.SetTaskPushConfig(ctx, push("http://127.0.0.1:1029/hook"))
	seen["refused"] = said(err)
	_, err = client.GetTask(ctx, &a2a.TaskQueryParams{ID: "never-was"})
	seen["unknown"] = said(err)
	_, err = p.send("more", true, canceled)
	seen["ended"] = said(err)
	return seen, nil
}

func main() {
	seen, err := run(os.Args[1], os.Args[2], os.Args[3])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	_ = json.NewEncoder(os.Stdout).Encode(seen)
}
