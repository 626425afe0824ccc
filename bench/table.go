package main

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"
)

func printTable(w io.Writer, title string, rows []result) {
	_, _ = fmt.Fprintf(w, "\n%s\n", title)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintln(t, "lock\top/s\tp50\tp99\tmax\tCPU/op\tallocs/op\tfailed\top/s to redsync\tp50 to redsync\tof the ceiling\t")
	peer, top := find(rows, "redsync"), find(rows, "ceiling")
	for _, r := range rows {
		_, _ = fmt.Fprintf(t, "%s\t%.0f\t%s\t%s\t%s\t%s\t%.0f\t%d\t%s\t%s\t%s\t\n", r.Lock, r.OpsPerSecond,
			ms(r.P50), ms(r.P99), ms(r.Max), us(r.CPU), r.Allocs, r.Errors,
			ratio(r.OpsPerSecond, peer.OpsPerSecond), ratio(float64(r.P50), float64(peer.P50)), share(r.OpsPerSecond, top.OpsPerSecond))
	}
	_ = t.Flush()
}

func find(rows []result, name string) result {
	for _, r := range rows {
		if r.Lock == name {
			return r
		}
	}
	return result{}
}

func ms(d time.Duration) string { return fmt.Sprintf("%.2f ms", float64(d)/1e6) }

func us(d time.Duration) string { return fmt.Sprintf("%.0f µs", float64(d)/1e3) }

func ratio(a, b float64) string {
	if b == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2fx", a/b)
}

func share(a, b float64) string {
	if b == 0 {
		return "-"
	}
	return fmt.Sprintf("%.0f %%", 100*a/b)
}
