package trouble

import (
	"context"
	"fmt"

	"wardroom/internal/event"
	"wardroom/internal/gateway"
	"wardroom/internal/inbox"
)

const (
	diskLow    = 90       // percentage of the gateway's disk from which it is reported
	diskFull   = 97       // percentage from which that is severe
	diskAmple  = 20 << 30 // bytes that are enough, whatever part of the disk they are
	diskScarce = 1 << 30  // bytes that are too few, whatever part of the disk they are
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
	item, full := diskItem(d)
	if !full {
		return nil, nil
	}
	return []inbox.NewItem{item}, nil
}

// diskItem returns the item about a disk, and false if the disk has enough space.
func diskItem(d gateway.Disk) (item inbox.NewItem, full bool) {
	percent := (d.Bytes - d.FreeBytes) * 100 / d.Bytes
	severe := d.FreeBytes < diskScarce || percent >= diskFull && d.FreeBytes < diskAmple
	if !severe && (percent < diskLow || d.FreeBytes >= diskAmple) {
		return item, false
	}
	item = inbox.NewItem{
		Cause: "gateway/disk", Severity: inbox.Medium, Title: fmt.Sprintf("The gateway's disk is %d%% full", percent),
		Detail: fmt.Sprintf(
			"%.1f of %.1f GB are free. When the disk is full, the gateway cannot store sessions, and runs fail.\n\n"+
				"On the gateway's host, delete what agents no longer need, or extend the disk. This item resolves itself after that.",
			float64(d.FreeBytes)/1e9, float64(d.Bytes)/1e9),
		Subject: event.Subject{Kind: event.TopicGateway, ID: "disk", Name: "disk"},
	}
	if severe {
		item.Severity = inbox.High
	}
	return item, true
}
