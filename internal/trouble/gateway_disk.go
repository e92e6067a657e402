package trouble

import (
	"context"
	"fmt"

	"wardroom/internal/event"
	"wardroom/internal/gateway"
	"wardroom/internal/inbox"
)

// The gateway's disk is reported from diskLow percent on unless diskAmple bytes are free, and severe from diskFull
// percent on unless diskEnough bytes are free. The item ends below diskFine percent, so that it does not come and go.
const (
	diskFine   = 85
	diskLow    = 90
	diskFull   = 97
	diskAmple  = 20_000_000_000
	diskEnough = 5_000_000_000
)

// CheckDisk raises an inbox item when the disk on which the gateway keeps its data is almost full.
func (s *Checks) CheckDisk(ctx context.Context) error {
	return s.check(ctx, inbox.GatewayDisk, s.fullDisk, "The disk has space again.")
}

func (s *Checks) fullDisk(ctx context.Context) ([]inbox.NewItem, error) {
	d, err := s.Runtime.Disk(ctx)
	if err != nil {
		return nil, err
	}
	used := 100 * (1 - float64(d.FreeBytes)/float64(d.Bytes))
	item := inbox.NewItem{
		Cause: "gateway/disk", Severity: inbox.Medium,
		Subject: event.Subject{Kind: event.TopicGateway, ID: "disk", Name: "disk"}, Detail: diskDetail(d),
	}
	switch {
	case used < diskFine:
		return nil, nil
	case used >= diskFull && d.FreeBytes < diskEnough:
		item.Severity, item.Title = inbox.High, "The gateway's disk is nearly out of space"
	case used >= diskLow && d.FreeBytes < diskAmple:
		item.Title = "The gateway's disk is almost full"
	}
	return []inbox.NewItem{item}, nil
}

func diskDetail(d gateway.Disk) string {
	return fmt.Sprintf("%.1f GB of %.1f GB were free. When the disk is full, the gateway cannot store sessions, and runs fail.\n\n"+
		"On the gateway's host, delete what agents no longer need, or add disk space. This item resolves itself after that.",
		float64(d.FreeBytes)/1e9, float64(d.Bytes)/1e9)
}
