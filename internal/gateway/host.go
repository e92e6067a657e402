package gateway

import (
	"context"
	"fmt"

	"wardroom/internal/gateway/link"
	"wardroom/internal/gateway/wire"
)

// Disk is the disk on which the gateway keeps its data.
type Disk struct {
	Bytes, FreeBytes int64
}

// Disk returns the disk on which the gateway keeps its data. It requires the scope operator.read.
func (c *Client) Disk(ctx context.Context) (Disk, error) {
	var out struct {
		Bytes     wire.Number `json:"diskTotalBytes"`
		FreeBytes wire.Number `json:"diskAvailableBytes"`
	}
	if err := c.call(ctx, "system.info", struct{}{}, &out); err != nil {
		return Disk{}, fmt.Errorf("read the gateway's disk: %w", err)
	}
	free, known := out.FreeBytes.Whole()
	d := Disk{Bytes: out.Bytes.Count(), FreeBytes: free}
	if !known || free < 0 || d.Bytes == 0 || free > d.Bytes {
		return Disk{}, link.ErrUnreadable("system.info")
	}
	return d, nil
}
