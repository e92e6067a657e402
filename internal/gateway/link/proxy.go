package link

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"syscall"
)

// proxy returns the host and port of the HTTP proxy through which connections to the gateway go, and the environment
// variable that sets it. Both are empty without a proxy. Addresses of this host are never reached through one.
func (c *Client) proxy() (host, variable string) {
	if c.opt.HTTP.Proxy == nil || c.at.url == nil {
		return "", ""
	}
	at := *c.at.url
	at.Scheme = map[string]string{"ws": "http", "wss": "https"}[at.Scheme]
	via, err := c.opt.HTTP.Proxy(&http.Request{URL: &at})
	if err != nil || via == nil {
		return "", ""
	}
	variable = map[string]string{"http": "HTTP_PROXY", "https": "HTTPS_PROXY"}[at.Scheme]
	if lower := map[string]string{"http": "http_proxy", "https": "https_proxy"}[at.Scheme]; os.Getenv(variable) == "" &&
		os.Getenv(lower) != "" {
		variable = lower
	}
	return via.Host, variable
}

// viaProxy makes f blame the proxy, if connections go through one: a failure to connect is about the proxy, and a
// response instead of a WebSocket is usually its own.
func (c *Client) viaProxy(f *failure, err error, resp *http.Response) *failure {
	host, variable := c.proxy()
	if host == "" || f.state == Untrusted {
		return f
	}
	why := c.proxyCause(err)
	if resp != nil {
		why = fmt.Sprintf("The proxy, or the gateway behind it, answered HTTP %d instead of opening a WebSocket",
			resp.StatusCode)
	}
	f.text = fmt.Sprintf(
		"The connection to %s goes through the proxy %s, because %s is set in Wardroom's environment. %s.", c.at.url.Host,
		host, variable, why,
	)
	return f.withFix("Add %s to NO_PROXY in Wardroom's environment and restart it, or correct %s.", c.at.url.Hostname(),
		variable)
}

// proxyCause says in a sentence without its full stop what went wrong between Wardroom and the proxy.
func (c *Client) proxyCause(err error) string {
	var timeout net.Error
	dns, unknown := errors.AsType[*net.DNSError](err)
	switch {
	case unknown:
		return "Could not resolve the proxy's name " + c.secrets.Line(dns.Name)
	case errors.Is(err, syscall.ECONNREFUSED):
		return "The proxy refused the connection"
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return fmt.Sprintf("It did not answer within %s", c.opt.Timeout)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET):
		return "The proxy closed the connection before answering"
	}
	return "The proxy says: " + cmp.Or(c.secrets.Line(rootText(err)), "nothing")
}
