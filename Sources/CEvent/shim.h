#pragma once
// First the system's headers as the Glibc module reads them: libevent's configuration asks for other variants of their types.
#include <sys/types.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <event2/event.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/listener.h>
#include <event2/util.h>
