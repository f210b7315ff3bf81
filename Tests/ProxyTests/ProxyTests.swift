// ProxyTests
