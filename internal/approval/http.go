package approval

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"wardroom/internal/gateway/link"
	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/enum"
	"wardroom/internal/platform/page"
	"wardroom/internal/platform/web"
	"wardroom/internal/task"
)

// Schema implements huma.SchemaProvider.
func (State) Schema(huma.Registry) *huma.Schema { return enum.Schema(States()) }

// Schema implements huma.SchemaProvider. Without an answer, there is no delivery.
func (Delivery) Schema(huma.Registry) *huma.Schema { return enum.Schema(append(Deliveries(), "")) }

// Schema implements huma.SchemaProvider. The empty decision means that nobody has decided.
func (Decision) Schema(huma.Registry) *huma.Schema { return enum.Schema(append(Decisions(), "")) }

// Mount adds the routes for approvals and questions. Agents can only ask and withdraw questions, because
// they must not answer for people.
func (s *Service) Mount(api *web.API) {
	away := web.Fails(
		link.ErrNotConfigured, link.ErrUnreachable, link.ErrTimeout, link.ErrUnauthorized,
		link.ErrUnpaired, link.ErrUntrusted, link.ErrMissingScope, link.ErrBusy, link.ErrRefused,
	)
	asks := web.Asks(4, s.Patience)
	answers := web.Fails(ErrNotFound, ErrChanged, ErrDecided, ErrAnswer)
	web.Get(api, "/approvals", actor.UseInbox, "List approvals", s.handleList, web.Fails(page.ErrCursor),
		web.Describe("Lists what agents want to do and what people decided about it. Without the parameter state, only approvals that wait are listed."))
	web.Get(api, "/approvals/{id}", actor.UseInbox, "Get an approval", s.handleGet, web.Fails(ErrNotFound),
		web.Describe(
			"Returns the approval with the cost of its session so far and the last five decisions about the same command.",
		))
	web.Post(api, "/approvals/{id}/answer", actor.AnswerAgents, "Answer an approval", s.handleDecide, away, asks, answers,
		web.Describe("Allows or denies the action. The first answer counts, whether it comes through Wardroom or another client of the runtime; later ones fail with approval_decided, which names who was first. "+
			"shown is the approval's digest: if the request has changed since you read it, the answer fails with approval_changed. allow-always also allows the same command later."))
	web.Get(api, "/questions", actor.UseInbox, "List questions", s.handleQuestions, web.Fails(page.ErrCursor),
		web.Describe(
			"Lists the questions of agents to people. Without the parameter state, only questions that wait are listed.",
		))
	web.Get(api, "/questions/{id}", actor.UseInbox, "Get a question", s.handleQuestion, web.Fails(ErrNotFound))
	web.Post(api, "/questions/{id}/answer", actor.AnswerAgents, "Answer a question", s.handleReply, away, asks, answers,
		web.Describe("Answers all parts of a question, each with the label of an option or in other words. Without answers, the question is skipped and the agent decides. The runtime records your name. The first answer counts. A question with the source wardroom is answered even if the gateway is offline: delivery tells when the agent gets the answer."))
	web.Post(api, "/questions", actor.UseTools, "Ask a person", s.handleAsk,
		web.Status(http.StatusCreated), web.Also(http.StatusOK),
		web.Fails(task.ErrNotFound, task.ErrArchived, ErrTooMany),
		web.Describe("Puts a question of the calling agent into the inbox. The answer starts a turn in the agent's session, and becomes a comment on the task that the question is about. "+
			"To read the state or the answer, repeat the request: while the question waits, and for 24 hours after it has ended, the same content asks nothing new and returns the question with the status 200. until is not compared."))
	web.Post(api, "/questions/{id}/withdraw", actor.UseTools, "Withdraw a question", s.handleWithdraw,
		web.Fails(ErrNotFound, ErrDecided),
		web.Describe("Takes back a question that the calling agent has asked and that waits for an answer."))
	web.Get(api, "/agentrt/commands", actor.UseInbox, "Get the policy for commands", s.handlePolicy,
		away, web.Asks(1, s.Patience),
		web.Describe(
			"Says whether agents ask before they run commands, from the runtime's configuration. By default they never ask.",
		))
}

type listInput struct {
	State      string `query:"state" enum:"pending,all" default:"pending" doc:"pending: only those that wait. all: also those that have ended."`
	AgentID    string `query:"agent_id" maxLength:"64" doc:"Only those of this agent."`
	SessionKey string `query:"session_key" maxLength:"512" doc:"Only those of this session."`
	Task       string `query:"task" maxLength:"64" doc:"Only those of this task."`
	page.Query
	page.Total
}

func (in *listInput) filter() (Filter, page.Want) {
	return Filter{Pending: in.State != "all", AgentID: in.AgentID, SessionKey: in.SessionKey, Task: in.Task},
		page.Want{Query: in.Query, Total: in.Total.Total}
}

func (s *Service) handleList(ctx context.Context, in *listInput) (*web.List[Approval], error) {
	f, want := in.filter()
	part, err := s.List(ctx, f, want)
	return web.Part(ctx, part), err
}

func (s *Service) handleQuestions(ctx context.Context, in *listInput) (*web.List[Question], error) {
	f, want := in.filter()
	part, err := s.Questions(ctx, f, want)
	return web.Part(ctx, part), err
}

// Ref is the path parameter that identifies a request.
type Ref struct {
	ID string `path:"id" maxLength:"200" doc:"The runtime's ID of the request."`
}

type approvalOutput struct{ Body Detailed }

func (s *Service) handleGet(ctx context.Context, in *Ref) (*approvalOutput, error) {
	d, err := s.Get(ctx, in.ID)
	return &approvalOutput{d}, err
}

type questionOutput struct{ Body Question }

func (s *Service) handleQuestion(ctx context.Context, in *Ref) (*questionOutput, error) {
	q, err := s.GetQuestion(ctx, in.ID)
	return &questionOutput{q}, err
}

type decideInput struct {
	Ref
	Body struct {
		Decision Decision `json:"decision" doc:"One of the approval's decisions."`
		Shown    string   `json:"shown" maxLength:"64" doc:"The digest of the approval that you saw."`
	}
}

func (s *Service) handleDecide(ctx context.Context, in *decideInput) (*approvalOutput, error) {
	d, err := s.Decide(ctx, in.ID, Answer{Shown: in.Body.Shown, Decision: in.Body.Decision})
	return &approvalOutput{d}, err
}

type replyInput struct {
	Ref
	Body struct {
		Answers map[string][]string `json:"answers,omitempty" doc:"Answers by the ID of the part: labels of options, or other words. Omit it to skip the question."`
		Shown   string              `json:"shown" maxLength:"64" doc:"The digest of the question that you saw."`
	}
}

func (s *Service) handleReply(ctx context.Context, in *replyInput) (*questionOutput, error) {
	q, err := s.Reply(ctx, in.ID, Answer{Shown: in.Body.Shown, Answers: in.Body.Answers})
	return &questionOutput{q}, err
}

type askInput struct{ Body Ask }

type askOutput struct {
	Status int
	Body   Question
}

func (s *Service) handleAsk(ctx context.Context, in *askInput) (*askOutput, error) {
	q, made, err := s.Ask(ctx, in.Body)
	out := &askOutput{http.StatusCreated, q}
	if !made {
		out.Status = http.StatusOK
	}
	return out, err
}

func (s *Service) handleWithdraw(ctx context.Context, in *Ref) (*questionOutput, error) {
	q, err := s.Withdraw(ctx, in.ID)
	return &questionOutput{q}, err
}

type policyOutput struct{ Body Policy }

func (s *Service) handlePolicy(ctx context.Context, _ *struct{}) (*policyOutput, error) {
	p, err := s.Policy(ctx)
	return &policyOutput{p}, err
}
