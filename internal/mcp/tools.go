package mcp

import (
	"context"
	"fmt"
	"runtime/debug"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// server returns a server with all tools.
func (s *Service) server() *sdk.Server {
	server := sdk.NewServer(&sdk.Implementation{Name: "wardroom", Version: s.Version},
		&sdk.ServerOptions{Instructions: instructions, Capabilities: &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{}}})
	add(s, server, "whoami", "Your name, open tasks, and whether a standup waits for you.", s.whoami)
	add(s, server, "next_task", "Claim your next task for 1 hour, or renew your claim.", s.nextTask)
	add(s, server, "get_task", "Read a task with its latest comments.", s.getTask)
	add(s, server, "report",
		"Report on a task: ack at the start, progress for news, blocker if you cannot continue, done when finished.",
		s.report)
	add(s, server, "comment", "Comment on a task. @agent_id mentions someone.", s.comment)
	add(s, server, "create_task", "Create a task on the board.", s.createTask)
	add(s, server, "ask_human", "Ask a person. Don't wait: the answer starts a turn. Repeat the call to read it.",
		s.askHuman)
	add(s, server, "submit_standup_report", "Submit or replace your standup report, in Markdown. Name tasks by key.",
		s.submitReport)
	server.AddReceivingMiddleware(nameNextCall)
	return server
}

// add adds a tool. The function do returns the text of the answer.
func add[In any](
	s *Service, server *sdk.Server, name, description string, do func(context.Context, In) (string, error),
) {
	sdk.AddTool(server, &sdk.Tool{Name: name, Description: description},
		func(ctx context.Context, _ *sdk.CallToolRequest, in In) (_ *sdk.CallToolResult, _ any, err error) {
			// The SDK calls tools in its own goroutines, where a panic would end the process.
			defer func() {
				if v := recover(); v != nil {
					err = s.explain(ctx, name, fmt.Errorf("panic: %v\n%s", v, debug.Stack()))
				}
			}()
			ctx, cancel := context.WithTimeout(ctx, callTime)
			defer cancel()
			text, err := do(ctx, in)
			if err != nil {
				return nil, nil, s.explain(ctx, name, err)
			}
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: text}}}, nil, nil
		})
}

// nameNextCall adds the next call to the errors of the SDK, such as those about invalid arguments.
func nameNextCall(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		res, err := next(ctx, method, req)
		call, isCall := req.(*sdk.CallToolRequest)
		if !isCall {
			return res, err
		}
		if err != nil {
			return refusal("Unknown tool, or invalid call. " + nextPrefix + "call whoami. The tools are listed by tools/list."), nil //nolint:nilerr // the refusal says what failed
		}
		got, ok := res.(*sdk.CallToolResult)
		if !ok || !got.IsError || len(got.Content) != 1 {
			return res, nil
		}
		if text, ok := got.Content[0].(*sdk.TextContent); ok && !strings.Contains(text.Text, nextPrefix) {
			return refusal(
				clip(text.Text, maxAnswer/2) + ". " + nextPrefix + "correct the arguments and call " + call.Params.Name + " again.",
			), nil
		}
		return res, nil
	}
}

func refusal(text string) *sdk.CallToolResult {
	return &sdk.CallToolResult{IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: text}}}
}
