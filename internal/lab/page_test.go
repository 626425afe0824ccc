package lab_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock-go/internal/lab"
	"github.com/quorumlock/redlock-go/internal/redistest"
)

// The page loads in a browser without a complaint, every cell opens by its link and shows
// its timeline, and the keyboard is enough.
func TestPage(t *testing.T) {
	t.Parallel()
	c := lab.Config{Designs: lab.Designs(), Parallel: 3, Seed: 1}
	for _, id := range []string{"restart-empty", "late-set"} {
		f, _ := lab.FaultOf(id)
		c.Faults = append(c.Faults, f)
	}
	needMasters(t)
	ctx := browser(t)
	r := lab.NewReport(c)
	r.Cells = lab.Stage(t.Context(), c, func(*lab.Cell) {})
	path := filepath.Join(t.TempDir(), "report.html")
	f, err := os.Create(path)
	require.NoError(t, err)
	require.NoError(t, r.HTML(f))
	require.NoError(t, f.Close())

	said := chromedp.Console(ctx)
	require.NoError(t, chromedp.Do(ctx, chromedp.Navigate("file://"+path)))
	links := ask[[]string](ctx, t, `[...document.querySelectorAll('.matrix a')].map(a => a.getAttribute('href'))`)
	require.Len(t, links, len(r.Cells))
	const open = `[...document.querySelectorAll('section.cell')].filter(s => s.offsetParent).map(s => '#' + s.id)`
	for i, link := range links {
		require.NoError(t, chromedp.Do(ctx, chromedp.Click(`.matrix a[href="`+link+`"]`)), link)
		assert.Equal(t, []string{link}, ask[[]string](ctx, t, open))
		drawn := ask[bool](ctx, t, `!!document.querySelector('section.cell:target svg line.lane')`)
		assert.Equal(t, r.Cells[i].Expected != lab.None, drawn, link)
	}

	require.NoError(t, chromedp.Do(ctx, chromedp.KeyEvent(kb.Escape)))
	assert.Empty(t, ask[[]string](ctx, t, open), "Escape closes the cell")
	require.NoError(t, chromedp.Do(ctx, chromedp.KeyEvent(kb.ArrowLeft), chromedp.KeyEvent(kb.ArrowUp), chromedp.KeyEvent(kb.Enter)))
	assert.Equal(t, []string{"#restart-empty/ours"}, ask[[]string](ctx, t, open), "the arrows lead from the last cell to its left and up")

	require.NoError(t, chromedp.Do(ctx, chromedp.EmulateViewport(360, 640)))
	assert.False(t, ask[bool](ctx, t, `document.documentElement.scrollWidth > document.documentElement.clientWidth`), "on a narrow screen only the matrix scrolls sideways")

	ask[bool](ctx, t, `console.log('the end'), true`)
	for m, err := range said {
		require.NoError(t, err)
		if m.Text == "the end" {
			break
		}
		assert.Fail(t, "the browser complains", m.String())
	}
}

// ask has the page work out something.
func ask[T any](ctx context.Context, t *testing.T, expression string) T {
	t.Helper()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression))
	require.NoError(t, err, expression)
	return v
}

func needMasters(t *testing.T) {
	t.Helper()
	if !lab.RealMasters() {
		redistest.Unavailable(t, "redis-server is not on PATH: install it (Debian: redis-server, Homebrew: redis)")
	}
}

// browser returns a browser that runs until the test ends.
func browser(t *testing.T) context.Context {
	t.Helper()
	var path string
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome"} {
		if p, err := exec.LookPath(name); err == nil {
			path = p
			break
		}
	}
	if path == "" {
		redistest.Unavailable(t, "there is no browser on PATH: install chromium")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path))
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox) // it refuses to run as root otherwise
	}
	ctx, cancel := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	require.NoError(t, chromedp.Do(ctx), "start %s", path)
	return ctx
}
