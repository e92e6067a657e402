package gateway

import (
	"context"
	"encoding/json"
	"fmt"

	"wardroom/internal/gateway/wire"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/plaintext"
)

// PersonQuestion is a question of an agent to people. Its texts come from the agent.
type PersonQuestion struct {
	ID         string
	Parts      []QuestionPart
	AgentID    string
	SessionKey string
	RunID      string
	Digest     string // of the parts, before cleaning
	CreatedAt  clock.Time
	ExpiresAt  clock.Time // on Wardroom's clock
}

// QuestionPart is one of the questions that are asked together.
type QuestionPart struct {
	ID       string           `json:"id"`
	Header   string           `json:"header" doc:"A word or two."`
	Text     string           `json:"text"`
	Options  []QuestionOption `json:"options" nullable:"false"`
	Multiple bool             `json:"multiple" doc:"Whether more than one answer is accepted."`
	Other    bool             `json:"other" doc:"Whether an answer in other words than the options is invited."`
}

// QuestionOption is an offered answer.
type QuestionOption struct {
	Label       string `json:"label"`
	Description string `json:"description"`
}

type wireQuestion struct {
	ID         wire.Word   `json:"id"`
	Parts      []wirePart  `json:"questions"`
	AgentID    wire.Word   `json:"agentId"`
	SessionKey wire.Word   `json:"sessionKey"`
	RunID      wire.Word   `json:"runId"`
	CreatedAt  wire.Number `json:"createdAtMs"`
	ExpiresAt  wire.Number `json:"expiresAtMs"`

	// Only question.get has the following.
	Status  wire.Word   `json:"status"`
	Answers wireAnswers `json:"answers"`
	By      wire.Word   `json:"resolvedBy"`
}

type wirePart struct {
	ID      wire.Word `json:"questionId"`
	Header  wire.Word `json:"header"`
	Text    wire.Word `json:"question"`
	Options []struct {
		Label       wire.Word `json:"label"`
		Description wire.Word `json:"description"`
	} `json:"options"`
	Multiple wire.Flag `json:"multiSelect"`
	Other    wire.Flag `json:"isOther"`
}

// wireAnswers are answers by the id of the part. Unreadable answers are ignored.
type wireAnswers struct {
	Answers map[string]wire.Words `json:"answers"`
}

// question converts a question. It returns false if it has no valid id or no parts.
func (c *Client) question(w wireQuestion) (PersonQuestion, bool) {
	if !validKey(string(w.ID)) || len(w.Parts) == 0 {
		return PersonQuestion{}, false
	}
	q := PersonQuestion{
		ID: string(w.ID), AgentID: c.short(string(w.AgentID)), SessionKey: sessionKey(w.SessionKey),
		RunID: keyOrEmpty(w.RunID), Digest: w.digest(), CreatedAt: c.ownTime(w.CreatedAt), ExpiresAt: c.ownTime(w.ExpiresAt),
	}
	for _, p := range w.Parts {
		part := QuestionPart{
			ID: string(p.ID), Header: c.short(string(p.Header)), Text: c.secrets.Lines(string(p.Text)),
			Options: []QuestionOption{}, Multiple: p.Multiple.Is(), Other: p.Other.Is(),
		}
		for _, o := range p.Options {
			label := c.short(string(o.Label))
			if label == plaintext.NFC(string(o.Label)) {
				label = string(o.Label) // the runtime expects its own form in the answer
			}
			part.Options = append(part.Options, QuestionOption{Label: label, Description: c.short(string(o.Description))})
		}
		q.Parts = append(q.Parts, part)
	}
	return q, true
}

// digest returns a digest of the question, from the texts as the gateway sent them.
func (w wireQuestion) digest() string {
	text, err := json.Marshal(w.Parts)
	if err != nil { // a struct of strings
		return ""
	}
	return wireApproval{ID: w.ID, Request: approvalRequest{Command: wire.Word(text)}}.digest()
}

func (c *Client) answers(w wireAnswers) map[string][]string {
	if len(w.Answers) == 0 {
		return nil
	}
	all := make(map[string][]string, len(w.Answers))
	for id, list := range w.Answers {
		for _, text := range list {
			all[c.short(id)] = append(all[c.short(id)], c.secrets.Lines(string(text)))
		}
	}
	return all
}

// Questions returns the questions that wait for an answer. It requires the scope operator.questions.
func (c *Client) Questions(ctx context.Context) ([]PersonQuestion, error) {
	var out struct {
		Questions []wireQuestion `json:"questions"`
	}
	if err := c.call(ctx, "question.list", struct{}{}, &out); err != nil {
		return nil, fmt.Errorf("list questions: %w", err)
	}
	var all []PersonQuestion
	for _, w := range out.Questions {
		if q, ok := c.question(w); ok {
			all = append(all, q)
		}
	}
	return all, nil
}

// AnswerQuestion answers all parts of a question in a person's name, or skips the question if there
// are no answers. It returns ErrAnswered or ErrNoRequest if the runtime no longer waits.
func (c *Client) AnswerQuestion(ctx context.Context, id string, answers map[string][]string, by string) error {
	type wrapped struct {
		Answers map[string][]string `json:"answers"`
	}
	params := struct {
		ID      string   `json:"id"`
		Cancel  bool     `json:"cancel,omitempty"`
		Answers *wrapped `json:"answers,omitempty"`
		By      string   `json:"resolvedBy,omitempty"`
	}{ID: id, Cancel: len(answers) == 0, By: by}
	if len(answers) > 0 {
		params.Answers = &wrapped{answers}
	}
	var out struct{}
	if err := c.once(ctx, "question.resolve", params, &out); err != nil {
		return fmt.Errorf("answer a question: %w", err)
	}
	return nil
}

// QuestionEnding returns how a question has ended, or the state pending. It returns ErrNoRequest if
// the gateway does not know the question, for example after a restart.
func (c *Client) QuestionEnding(ctx context.Context, id string) (Ending, error) {
	params := struct {
		ID string `json:"id"`
	}{id}
	var out struct {
		Question wireQuestion `json:"question"`
	}
	if err := c.call(ctx, "question.get", params, &out); err != nil {
		return Ending{}, fmt.Errorf("read a question: %w", err)
	}
	q := out.Question
	return Ending{State: questionState(q.Status), Answers: c.answers(q.Answers), By: c.short(string(q.By))}, nil
}

// questionState returns the state for a status of a question. Cancelled means skipped, expired or
// withdrawn with the run: the runtime does not say which.
func questionState(status wire.Word) string {
	switch status {
	case "pending", "answered", "expired":
		return string(status)
	case "timeout", "timed-out":
		return "expired"
	}
	return "cancelled"
}
