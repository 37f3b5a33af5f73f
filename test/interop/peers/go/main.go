// Drives a gateway with the official Go client and prints what it saw, as one JSON object.
//
// Arguments: base URL, credential, binding (JSONRPC, HTTP+JSON, GRPC), protocol version (1.0, 0.3).
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
	"github.com/a2aproject/a2a-go/v2/a2aclient/agentcard"
	"github.com/a2aproject/a2a-go/v2/a2acompat/a2av0"
	grpcv0 "github.com/a2aproject/a2a-go/v2/a2agrpc/v0"
	grpcv1 "github.com/a2aproject/a2a-go/v2/a2agrpc/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

type credential struct {
	a2aclient.PassthroughInterceptor
	token string
}

func (c credential) Before(ctx context.Context, req *a2aclient.Request) (context.Context, any, error) {
	req.ServiceParams.Append("authorization", "Bearer "+c.token)
	return ctx, nil, nil
}

func brief(event a2a.Event) string {
	switch e := event.(type) {
	case *a2a.Task:
		return "task " + string(e.Status.State)
	case *a2a.TaskStatusUpdateEvent:
		return "status " + string(e.Status.State)
	case *a2a.TaskArtifactUpdateEvent:
		return "artifact"
	default:
		return fmt.Sprintf("%T", event)
	}
}

// parseCard leaves out what the default parser of this client cannot read: it takes the scopes of a requirement for an
// array, where the proto has a message with a list.
func parseCard(body []byte) (*a2a.AgentCard, error) {
	var card map[string]any
	if err := json.Unmarshal(body, &card); err != nil {
		return nil, err
	}
	delete(card, "securityRequirements")
	if skills, ok := card["skills"].([]any); ok {
		for _, skill := range skills {
			if members, ok := skill.(map[string]any); ok {
				delete(members, "securityRequirements")
			}
		}
	}
	readable, err := json.Marshal(card)
	if err != nil {
		return nil, err
	}
	return agentcard.DefaultCardParser(readable)
}

// kindOf names an error by the protocol's own list.
func kindOf(err error) string {
	kinds := []struct {
		name string
		err  error
	}{
		{"TaskNotFound", a2a.ErrTaskNotFound},
		{"InvalidParams", a2a.ErrInvalidParams},
		{"UnsupportedOperation", a2a.ErrUnsupportedOperation},
		{"TaskNotCancelable", a2a.ErrTaskNotCancelable},
		{"Unauthenticated", a2a.ErrUnauthenticated},
	}
	for _, kind := range kinds {
		if errors.Is(err, kind.err) {
			return kind.name
		}
	}
	if err == nil {
		return "nothing"
	}
	return "other: " + err.Error()
}

func run(url, token, binding, version string) (map[string]any, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Second)
	defer cancel()
	seen := map[string]any{}
	resolver := &agentcard.Resolver{Client: http.DefaultClient, CardParser: parseCard}
	card, err := resolver.Resolve(ctx, url)
	if err != nil {
		return nil, fmt.Errorf("card: %w", err)
	}
	kept := []*a2a.AgentInterface{}
	for _, each := range card.SupportedInterfaces {
		if string(each.ProtocolBinding) == binding && string(each.ProtocolVersion) == version {
			kept = append(kept, each)
		}
	}
	seen["offered"] = len(kept)
	card.SupportedInterfaces = kept

	plain := grpc.WithTransportCredentials(insecure.NewCredentials())
	options := []a2aclient.FactoryOption{a2aclient.WithCallInterceptors(credential{token: token})}
	if version == "1.0" {
		options = append(options, grpcv1.WithGRPCTransport(plain))
	} else {
		options = append(options,
			grpcv0.WithGRPCTransport(plain),
			a2av0.WithJSONRPCTransport(a2av0.JSONRPCTransportConfig{Client: http.DefaultClient}),
			a2av0.WithRESTTransport(a2av0.RESTTransportConfig{Client: http.DefaultClient}),
		)
	}
	client, err := a2aclient.NewFromCard(ctx, card, options...)
	if err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	request := func(text string, wait bool, task *a2a.Task) *a2a.SendMessageRequest {
		message := a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart(text))
		if task != nil {
			message = a2a.NewMessageForTask(a2a.MessageRoleUser, task, a2a.NewTextPart(text))
		}
		return &a2a.SendMessageRequest{Message: message, Config: &a2a.SendMessageConfig{ReturnImmediately: !wait}}
	}
	send := func(text string, wait bool, task *a2a.Task) (*a2a.Task, error) {
		result, err := client.SendMessage(ctx, request(text, wait, task))
		if err != nil {
			return nil, err
		}
		answer, ok := result.(*a2a.Task)
		if !ok {
			return nil, fmt.Errorf("the answer to %s is a %T", text, result)
		}
		return answer, nil
	}

	done, err := send("echo", true, nil)
	if err != nil {
		return nil, fmt.Errorf("send: %w", err)
	}
	texts := []string{}
	for _, artifact := range done.Artifacts {
		for _, part := range artifact.Parts {
			texts = append(texts, part.Text())
		}
	}
	seen["send"] = []any{done.Status.State, texts}

	stream := []string{}
	for event, err := range client.SendStreamingMessage(ctx, request("chunks", true, nil)) {
		if err != nil {
			return nil, fmt.Errorf("stream: %w", err)
		}
		stream = append(stream, brief(event))
	}
	seen["stream"] = stream

	slow, err := send("slow", false, nil)
	if err != nil {
		return nil, fmt.Errorf("slow: %w", err)
	}
	watched := []string{}
	for event, err := range client.SubscribeToTask(ctx, &a2a.SubscribeToTaskRequest{ID: slow.ID}) {
		if err != nil {
			return nil, fmt.Errorf("subscribe: %w", err)
		}
		watched = append(watched, brief(event))
		break
	}
	for event, err := range client.SubscribeToTask(ctx, &a2a.SubscribeToTaskRequest{ID: slow.ID}) {
		if err != nil {
			return nil, fmt.Errorf("subscribe again: %w", err)
		}
		watched = append(watched, brief(event))
	}
	seen["subscribe"] = watched

	asked, err := send("ask", true, nil)
	if err != nil {
		return nil, fmt.Errorf("ask: %w", err)
	}
	answered, err := send("that", true, asked)
	if err != nil {
		return nil, fmt.Errorf("answer: %w", err)
	}
	seen["ask"] = []any{asked.Status.State, answered.Status.State, asked.ID == answered.ID}

	if version == "1.0" {
		page, err := client.ListTasks(ctx, &a2a.ListTasksRequest{PageSize: 2})
		if err != nil {
			return nil, fmt.Errorf("list: %w", err)
		}
		seen["list"] = []any{len(page.Tasks), page.TotalSize, page.NextPageToken != ""}
	}
	waiting, err := send("wait", false, nil)
	if err != nil {
		return nil, fmt.Errorf("wait: %w", err)
	}
	canceled, err := client.CancelTask(ctx, &a2a.CancelTaskRequest{ID: waiting.ID})
	if err != nil {
		return nil, fmt.Errorf("cancel: %w", err)
	}
	seen["cancel"] = canceled.Status.State
	_, err = client.GetTask(ctx, &a2a.GetTaskRequest{ID: "never-was"})
	seen["unknown"] = kindOf(err)
	_, err = client.CreateTaskPushConfig(ctx, &a2a.PushConfig{TaskID: waiting.ID, URL: "https://127.0.0.1/hook"})
	seen["push"] = kindOf(err)
	_, err = send("more", true, canceled)
	seen["ended"] = kindOf(err)
	return seen, nil
}

func main() {
	seen, err := run(os.Args[1], os.Args[2], os.Args[3], os.Args[4])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	_ = json.NewEncoder(os.Stdout).Encode(seen)
}
