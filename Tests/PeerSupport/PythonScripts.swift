/// Ends of a WebSocket that are not ours: PyPI `websockets`, without compression.
package enum PythonScripts {
  /// Prints `{"port"}`, then each message that it gets; sends each back, and obeys `close CODE` and `abort`.
  package static let server = """
    import asyncio, hashlib, json
    from websockets.asyncio.server import serve
    def say(**fields):
        print(json.dumps(fields), flush=True)
    def digest(m):
        b = m.encode() if isinstance(m, str) else m
        return dict(kind="ws.text" if isinstance(m, str) else "ws.binary", length=len(b), sha=hashlib.sha256(b).hexdigest())
    async def handle(ws):
        say(host=ws.request.headers["Host"], path=ws.request.path)
        try:
            async for m in ws:
                say(got=digest(m))
                if isinstance(m, str) and m.startswith("close "):
                    await ws.close(int(m.split()[1]), "as asked")
                    break
                if m == "abort":
                    ws.transport.abort()
                    break
                if isinstance(m, str) and m.startswith("push "):
                    n = int(m.split()[1])
                    for i in range(n):
                        await ws.send("%06d " % i + "x" * 300)
                    continue
                await ws.send(m)
        finally:
            try:
                await ws.wait_closed()
            except Exception:
                pass
            say(closed=ws.close_code)
    async def main():
        async with serve(handle, "127.0.0.1", 0, compression=None, max_size=None) as s:
            say(port=s.sockets[0].getsockname()[1])
            await s.serve_forever()
    asyncio.run(main())
    """

  /// `URL STORY`: sends what the story says, prints each message that it sent and got.
  package static let client = """
    import asyncio, hashlib, json, sys
    from websockets.asyncio.client import connect
    from websockets.exceptions import ConnectionClosed, InvalidStatus
    def say(**fields):
        print(json.dumps(fields), flush=True)
    def digest(m):
        b = m.encode() if isinstance(m, str) else m
        return dict(kind="ws.text" if isinstance(m, str) else "ws.binary", length=len(b), sha=hashlib.sha256(b).hexdigest())
    async def talk(ws, m):
        await ws.send(m)
        whole = "".join(m) if isinstance(m, list) and isinstance(m[0], str) else b"".join(m) if isinstance(m, list) else m
        say(sent=digest(whole))
        back = await ws.recv()
        say(got=digest(back))
        assert back == whole
    async def main(url, story):
        try:
            async with connect(url, compression=None, max_size=None) as ws:
                if story == "sizes":
                    for n in (0, 1, 125, 126, 65535, 65536, 1000000):
                        await talk(ws, "é" * (n // 2) + "x" * (n % 2))
                        await talk(ws, bytes(i * 7 % 256 for i in range(n)))
                    await talk(ws, ["one", "", "twö", "three", "\\n"])
                    await talk(ws, [b"a" * 70000, b"b"])
                    await (await ws.ping(b"are you there"))
                    await ws.pong(b"unasked")
                    await talk(ws, "last")
                    await ws.close(1000, "done")
                elif story.startswith("close ") or story == "abort":
                    await ws.send(story)
                    say(sent=digest(story))
                    await ws.recv()
                elif story == "leave":
                    await talk(ws, "hello")
                    ws.transport.abort()
                elif story.startswith("many "):
                    async def take(n):
                        for i in range(n):
                            m = await ws.recv()
                            assert m.startswith("%06d" % i), m
                    n = int(story.split()[1])
                    t = asyncio.create_task(take(n))
                    for i in range(n):
                        await ws.send("%06d " % i + "y" * (i % 700))
                    await t
                    await ws.close(1000)
                elif story.startswith("flood "):
                    n = int(story.split()[1])
                    await ws.send("push %d" % n)
                    await asyncio.sleep(0.3)
                    for i in range(n):
                        m = await ws.recv()
                        assert m.startswith("%06d" % i), m
                    say(flooded=n)
                    await ws.close(1000)
                say(closed=ws.close_code)
        except ConnectionClosed as e:
            say(closed=e.rcvd.code if e.rcvd else 1006)
        except InvalidStatus as e:
            say(refused=e.response.status_code)
    asyncio.run(main(sys.argv[1], sys.argv[2]))
    """
}
