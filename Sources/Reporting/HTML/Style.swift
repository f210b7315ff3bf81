/// Style and script of the page: constants, so that their hashes stand in its policy.
///
/// Red is only for broken, amber only for faults and what they caused, blue for links and focus, green for held; everything else is ink,
/// and no meaning rests on colour alone. Text has at least 4.5 : 1 on every ground that it stands on, graphics 3 : 1, in both schemes.
enum Style {
  static let sheet = light + dark + base + parts + tables + figures + narrow + print

  private static let tokens = """
    --bg:#fff;--wash:#f6f7f8;--badw:#fdf0ee;--faultw:#fff3d6;--accentw:#e8f0fb;--line:#d8dce1;--ink:#16191d;--ink2:#454d57;--ink3:#5f6873;\
    --mark:#7d8691;--accent:#0b57b5;--bad:#b1201a;--fault:#855000;--ok:#1b6843;--unk:#5a4a9c
    """
  private static let light = """
    :root{color-scheme:light dark;\(tokens);
    --sans:ui-sans-serif,system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",sans-serif;
    --mono:ui-monospace,"SF Mono","Cascadia Mono",Menlo,Consolas,"Noto Sans Mono","DejaVu Sans Mono",monospace;--label:150px}

    """
  private static let dark = """
    @media (prefers-color-scheme:dark){:root{--bg:#131518;--wash:#1b1e22;--badw:#2c1614;--faultw:#2b2210;--accentw:#1a2840;--line:#30353c;--ink:#e7eaed;\
    --ink2:#b9c0c8;--ink3:#939ca7;--mark:#77808b;--accent:#82b4ff;--bad:#ff8f82;--fault:#e8b560;--ok:#71c898;--unk:#b7a9f2}}

    """
  private static let base = """
    *{box-sizing:border-box}
    html{background:var(--bg);color:var(--ink);font:14px/20px var(--sans);font-variant-numeric:tabular-nums;scroll-padding-top:56px;\
    -webkit-text-size-adjust:100%}
    body,h1,h2,h3,h4,p,dl,dd,ul,figure,pre,table{margin:0;padding:0}
    h1{font-size:28px;line-height:36px;font-weight:650;letter-spacing:-.012em;max-width:30em;text-wrap:balance}
    h2{font-size:20px;line-height:28px;font-weight:650;border-top:1px solid var(--line);padding-top:16px}
    h3{font-size:16px;line-height:24px;font-weight:650}
    h4{font-size:13px;line-height:20px;font-weight:650}
    h1,h3,dd,li,p{overflow-wrap:anywhere}
    .lead{color:var(--ink2);font-size:15px;line-height:24px;max-width:76ch;margin-top:2px;text-wrap:pretty}
    .note,.key{color:var(--ink3);font-size:12.5px;line-height:18px}
    .note{max-width:84ch;margin-top:10px}
    code,pre{font-family:var(--mono);font-size:.92em}
    code{overflow-wrap:anywhere}
    a{color:var(--accent);text-underline-offset:2px;text-decoration-thickness:1px}
    a:hover{text-decoration-thickness:2px}
    :focus-visible{outline:2px solid var(--accent);outline-offset:2px;border-radius:2px}
    [hidden]{display:none!important}
    svg{display:block;overflow:visible}
    svg text{font:11px var(--sans);fill:var(--ink2)}
    .ic{display:inline-block;width:12px;height:12px;vertical-align:-1px;fill:none;stroke:currentColor;stroke-width:1.5}
    .ic .full{fill:currentColor;stroke:none}
    .bad{color:var(--bad)}.ok{color:var(--ok)}.flt{color:var(--fault)}.dim{color:var(--ink3)}.unk{color:var(--unk)}
    .v{font-weight:600}
    .sr{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap}
    .skip{position:absolute;left:-999px}
    .skip:focus{left:8px;top:8px;background:var(--bg);padding:8px;z-index:9}
    button{font:12px/18px var(--sans);color:var(--ink);background:var(--bg);border:1px solid var(--mark);border-radius:4px;padding:2px 9px;\
    min-height:24px;cursor:pointer}
    button:hover{background:var(--wash)}

    """
  private static let parts = """
    main,.bar,footer{max-width:1264px;margin:0 auto;padding:0 32px}
    .top{position:sticky;top:0;background:var(--bg);border-bottom:1px solid var(--line);z-index:5}
    .bar{display:flex;gap:4px 20px;align-items:baseline;padding-top:10px;padding-bottom:9px;font-size:13px}
    .brand{font-weight:650;white-space:nowrap}
    .brand .ic{margin-right:5px}
    .run{color:var(--ink3);white-space:nowrap;overflow:hidden;text-overflow:ellipsis;min-width:0}
    nav{display:flex;gap:2px 16px;margin-left:auto}
    nav a{color:var(--ink2);text-decoration:none;white-space:nowrap;padding:2px 0}
    nav a:hover{color:var(--ink);text-decoration:underline}
    nav b{font-weight:600;color:var(--ink)}
    nav b.bad{color:var(--bad)}
    section{padding:40px 0 0}
    .warn{margin-top:24px;padding:10px 14px;background:var(--faultw);border-left:3px solid var(--fault);font-size:13.5px;max-width:none}
    #verdict{padding-top:32px}
    .word{font-size:15px;line-height:24px;font-weight:650;display:flex;gap:8px;align-items:center;margin-bottom:4px}
    .word .ic{width:18px;height:18px}
    .why{display:grid;grid-template-columns:minmax(0,1.25fr) minmax(0,1fr);gap:24px 48px;margin-top:16px}
    .why p{max-width:70ch;font-size:15px;line-height:24px}
    .why p+p{margin-top:8px}
    .cap{display:flex;justify-content:space-between;align-items:baseline;gap:12px;font-size:12.5px;color:var(--ink3);margin-bottom:4px}
    .cmd{background:var(--wash);border-left:3px solid var(--mark);padding:10px 12px;font:12.5px/20px var(--mono);white-space:pre-wrap;\
    overflow-wrap:anywhere}
    .strip{display:flex;flex-wrap:wrap;gap:6px 28px;align-items:end;margin-top:18px;font-size:12.5px;line-height:16px;color:var(--ink3)}
    .strip svg{margin-top:3px;max-width:100%}
    .facts{display:flex;flex-wrap:wrap;gap:4px 28px;margin-top:20px;padding-top:12px;border-top:1px solid var(--line);font-size:13px}
    .facts div{display:flex;gap:6px;flex-direction:row-reverse}
    .facts dt{color:var(--ink3)}
    .facts dd{font-weight:600}
    .finding{padding-top:24px}
    .finding+.finding{margin-top:28px;border-top:1px solid var(--line)}
    .finding h3 .n{display:inline-block;min-width:34px;color:var(--bad)}
    .fg{display:grid;grid-template-columns:minmax(0,5fr) minmax(0,7fr);gap:16px 40px;margin-top:12px}
    .fg.one{grid-template-columns:minmax(0,1fr)}
    .kv{display:grid;grid-template-columns:104px minmax(0,1fr);gap:5px 12px;font-size:13.5px;line-height:20px;align-content:start}
    .kv dt{color:var(--ink3)}
    .kv .hap{font-weight:600}
    .kv.about{grid-template-columns:148px minmax(0,1fr);margin-top:12px}
    .scroll{overflow-x:auto}
    .ev{margin-top:16px}
    pre.tr{font:12px/18px var(--mono);background:var(--wash);padding:8px 14px;overflow-x:auto;color:var(--ink2);margin-top:4px}
    pre.tr mark{background:var(--badw);color:var(--ink);font-weight:600;box-shadow:-14px 0 var(--badw),-17px 0 var(--bad);padding:1px 0}
    pre.tr .flt{font-weight:600}
    pre.tr i{font-style:normal;color:var(--ink3);font-family:var(--sans)}
    .go{margin-top:10px;font-size:13px;display:flex;gap:4px 18px;flex-wrap:wrap}
    footer{color:var(--ink3);font-size:12.5px;line-height:18px;padding-top:28px;padding-bottom:48px;overflow-wrap:anywhere}

    """
  private static let tables = """
    table{border-collapse:collapse;width:100%;font-size:13px;line-height:18px;margin-top:12px}
    th{text-align:left;font-weight:500;color:var(--ink3);vertical-align:bottom;border-bottom:1px solid var(--mark);padding:4px 14px 4px 0;\
    font-size:12px;line-height:16px}
    td,tbody th{vertical-align:top;border-bottom:1px solid var(--line);padding:8px 14px 8px 0}
    tbody th{color:var(--ink);font-size:13px;line-height:18px;font-weight:600}
    td:last-child,th:last-child{padding-right:0}
    .r{text-align:right}
    td small,th small{display:block;color:var(--ink3);font-size:12px;line-height:16px;font-weight:400}
    td .t,td span.flt{display:block}
    td .t{white-space:nowrap}
    td .t+small{white-space:nowrap}
    .wide tbody th{white-space:nowrap}
    tr.hot>*{background:var(--badw)}
    tr.hot>:first-child{box-shadow:-12px 0 var(--badw),-15px 0 var(--bad)}
    .dl td:first-child .v{white-space:nowrap}
    .dl .life{width:15%;min-width:120px}
    .dl td:nth-child(2){min-width:180px;overflow-wrap:anywhere}
    .dl td:nth-child(10){min-width:80px;overflow-wrap:anywhere}
    .dl td,.dl th{padding-right:12px}
    .key{display:flex;gap:4px 18px;flex-wrap:wrap;margin-top:8px}
    .key span{display:inline-flex;gap:5px;align-items:center}
    .key svg{width:14px;height:14px}
    .list{columns:3;column-gap:36px;list-style:none;font-size:12.5px;line-height:18px;margin-top:10px}
    .list li{display:grid;grid-template-columns:86px minmax(0,1fr) auto;gap:6px;padding:3px 0;border-bottom:1px solid var(--line);\
    break-inside:avoid}
    .list code{color:var(--ink3)}
    .list small{display:block;color:var(--ink3);font-size:12px;line-height:16px}
    h3.mt{margin-top:24px;font-size:13px;line-height:20px}
    .plain{margin-top:8px;padding-left:18px;font-size:13px;line-height:20px;max-width:84ch}
    details{margin-top:10px;font-size:13px}
    summary{cursor:pointer;padding:4px 0}

    """
  private static let figures = """
    .fig .axis{stroke:var(--ink2);stroke-width:1.5;fill:none}
    .fig .thin{stroke:var(--line);fill:none}
    .fig .gap{stroke:var(--bg);stroke-width:3;fill:none}
    .fig .dots{stroke:var(--mark);stroke-width:1.5;stroke-dasharray:1.5 4;fill:none}
    .fig .hop{stroke:var(--ink2);stroke-width:1.25;fill:none}
    .fig .hop.bad,.life .bad{stroke:var(--bad);stroke-width:1.75}
    .fig text.str,.wire text.str{fill:var(--ink);font-weight:600}
    .fig text.red{fill:var(--bad);font-weight:600}
    .fig text.amb{fill:var(--fault);font-weight:600;paint-order:stroke;stroke:var(--bg);stroke-width:4px}
    .fig text.dimt{fill:var(--ink3)}
    .g{fill:var(--ink)}.gb{fill:var(--bad);stroke:var(--bg)}
    .gx{stroke:var(--fault);stroke-width:2;fill:none}
    .gf{stroke:var(--fault);stroke-width:1.75;fill:var(--bg)}
    .go2{fill:var(--bg);stroke:var(--ink2);stroke-width:1.5}
    .ln{stroke:var(--mark);stroke-width:1.25;fill:none}
    .ln.wait{stroke-dasharray:3 3}
    .gbx{stroke:var(--bad);stroke-width:2.2;fill:none}
    .pfill{fill:var(--faultw)}.pline{stroke:var(--fault);stroke-width:1.5}.pslow{stroke:var(--mark);stroke-width:1.25}
    .held{fill:url(#p-held);stroke:var(--fault)}
    .late{fill:var(--fault);stroke:var(--fault)}
    .slow{fill:url(#p-slow);stroke:var(--mark)}
    .absent{fill:url(#p-gone);stroke:var(--ink2)}
    .away{fill:var(--bg);stroke:var(--mark);stroke-dasharray:3 3}
    .plainb{fill:var(--wash);stroke:var(--mark)}
    .finger{fill:var(--accentw);stroke:var(--accent)}
    .byself{fill:var(--mark);stroke:none}
    .many{stroke:none}
    .barv{fill:var(--mark);stroke:none}.barb{fill:var(--bad);stroke:none}
    .low{stroke:var(--bg);stroke-width:1;fill:none;vector-effect:non-scaling-stroke}
    .lim{stroke:var(--ink);stroke-width:1.25;stroke-dasharray:4 3;fill:none}
    .ax{stroke:var(--line)}
    .own{stroke:var(--ink);stroke-width:2;fill:none}
    .arrow{stroke:var(--ink2);stroke-dasharray:2 3;fill:none}
    text.halo,.halo{paint-order:stroke;stroke:var(--bg);stroke-width:3px;stroke-linejoin:round;fill:var(--ink)}
    text.red.halo{fill:var(--bad);font-weight:600}
    .chart text.dimt,.wire text.dimt{fill:var(--ink3)}
    .chart{max-width:560px}
    .figs{margin-top:12px}
    .figr{display:grid;grid-template-columns:minmax(0,4fr) minmax(0,3fr) minmax(0,5fr);gap:8px 40px;padding:16px 0;border-bottom:1px solid var(--line)}
    .figr h3{font-size:13px;line-height:18px}
    .figr p{font-size:12.5px;line-height:18px;color:var(--ink3);max-width:56ch}
    .figr .note{margin-top:4px;max-width:none}
    .val b{font-size:16px;line-height:20px;font-weight:650}
    .val small{display:block;font-size:12px;line-height:16px;color:var(--ink3);margin-top:2px}
    .bars div{display:grid;grid-template-columns:62px minmax(0,1fr) 84px;gap:10px;align-items:center;font-size:12px;line-height:20px;color:var(--ink3);\
    max-width:560px}
    .bars div>:last-child{color:var(--ink)}
    .bars div>.bad:last-child{color:var(--bad)}
    h3.big{font-size:16px;line-height:24px;margin-top:32px}
    h4.mt{margin-top:16px}
    .hl .life{width:22%;min-width:150px}
    .hl td{overflow-wrap:anywhere}
    .hl td:first-child .t{white-space:nowrap}
    .hl td:first-child{min-width:88px}
    .hl td .t+small{white-space:normal}
    td .t2,td small{display:block}
    .wire{margin-top:12px;min-width:860px;border-bottom:1px solid var(--line);position:relative;isolation:isolate}
    .bg{position:absolute;left:var(--label);top:0;width:calc(100% - var(--label));height:100%;z-index:-1;overflow:hidden}
    .wire .fband{fill:var(--faultw)}.wire .gone{fill:var(--line)}
    .track{margin:0;font-size:12px;border-top:1px solid var(--line)}
    .track summary{padding:2px 0;border-top:0;list-style:none}
    .track summary::-webkit-details-marker{display:none}
    .track summary b::before{content:"▸ ";color:var(--ink3)}
    .track[open] summary b::before{content:"▾ "}
    .wire text.red{fill:var(--bad);font-weight:600}
    .wire text.amb{fill:var(--fault);font-weight:600;paint-order:stroke;stroke:var(--bg);stroke-width:3px}
    .lane{display:grid;grid-template-columns:var(--label) minmax(0,1fr);align-items:center;border-top:1px solid var(--line)}
    .lane.sub{border-top:0}
    .lane p,.lane .lp{font-size:12px;line-height:16px;color:var(--ink3);display:flex;justify-content:space-between;align-items:center;padding-right:12px;\
    position:sticky;left:0;background:var(--bg);align-self:stretch;z-index:1}
    .lane p b,.lane .lp b{color:var(--ink);font-weight:600}
    .lane>svg{width:100%}
    .wire path:not([class]){fill:none;stroke:var(--mark);stroke-width:1.25;vector-effect:non-scaling-stroke}
    .wire path.key1{fill:none;stroke:var(--ink);stroke-width:1.5;vector-effect:non-scaling-stroke}
    .wire path.fm{fill:none;stroke:var(--fault);stroke-width:1.25;vector-effect:non-scaling-stroke}
    .quiet{fill:var(--wash)}
    .key .quiet{stroke:var(--line)}
    .wire .up{fill:var(--mark)}
    .wire svg svg{overflow:hidden}

    """
  private static let cards = """
    .dl table,.dl tbody{display:block}
    .dl thead{display:none}
    .dl table{border-top:1px solid var(--mark)}
    .dl tr{display:grid;grid-template-columns:repeat(5,minmax(0,1fr));gap:8px 20px;border-bottom:1px solid var(--line);padding:12px 0}
    .dl td{display:block;border:0;padding:0}
    .dl td::before{content:attr(data-l);display:block;color:var(--ink3);font-size:12px;line-height:16px}
    .dl td:nth-child(1)::before,.dl td:nth-child(2)::before{content:none}
    .dl td:nth-child(2){grid-column:2/-1}
    .dl .life{grid-column:1/-1;width:auto}
    .dl tr.hot>*{background:none}
    .dl tr.hot{background:var(--badw);box-shadow:-12px 0 var(--badw),-15px 0 var(--bad)}
    .dl tr.hot>:first-child{box-shadow:none}

    """
  private static let holdCards = """
    .hl table,.hl tbody{display:block}
    .hl thead{display:none}
    .hl table{border-top:1px solid var(--mark)}
    .hl tr{display:grid;grid-template-columns:repeat(2,minmax(0,1fr));gap:8px 20px;border-bottom:1px solid var(--line);padding:12px 0}
    .hl td{display:block;border:0;padding:0}
    .hl td::before{content:attr(data-l);display:block;color:var(--ink3);font-size:12px;line-height:16px}
    .hl td:first-child::before{content:none}
    .hl td:first-child,.hl .life{grid-column:1/-1;width:auto}
    .hl td:first-child>*{display:inline;margin-right:8px}
    .hl tr.hot>*{background:none}
    .hl tr.hot{background:var(--badw);box-shadow:-12px 0 var(--badw),-15px 0 var(--bad)}
    .hl tr.hot>:first-child{box-shadow:none}

    """
  private static let narrow = """
    @media screen and (max-width:1100px){\(cards).run{display:none}
    nav{gap:2px 12px}}
    @media screen and (max-width:820px){main,.bar,footer{padding-left:20px;padding-right:20px}
    .why,.fg,.figr{grid-template-columns:minmax(0,1fr)}
    \(holdCards)h1{font-size:24px;line-height:31px}
    .list{columns:2}
    .top{position:static}
    .bar{flex-direction:column}
    nav{margin:0;max-width:100%;flex-wrap:wrap}
    html{scroll-padding-top:8px}}
    @media screen and (max-width:560px){main,.bar,footer{padding-left:16px;padding-right:16px}
    .list{columns:1}
    .dl tr{grid-template-columns:repeat(2,minmax(0,1fr))}
    .dl td:nth-child(2){grid-column:1/-1}
    .kv,.kv.about{grid-template-columns:minmax(0,1fr);gap:0}
    .kv dd{margin-bottom:8px}
    .wide table{min-width:520px}}

    """
  private static let print = """
    @media print{:root{color-scheme:light;\(tokens)}
    @page{size:A4;margin:14mm}
    *{print-color-adjust:exact}
    .top{position:static}nav,.skip,button{display:none}
    main,.bar,footer{padding:0;max-width:none}
    section{padding-top:24px}
    .finding,.dl tr,.lane,.list li{break-inside:avoid}
    h2,h3{break-after:avoid}
    pre.tr,.cmd{white-space:pre-wrap;overflow-wrap:anywhere}
    .why,.fg{grid-template-columns:minmax(0,1fr)}
    .figr{grid-template-columns:minmax(0,4fr) minmax(0,3fr) minmax(0,5fr);gap:8px 16px;break-inside:avoid}
    .scroll{overflow:visible}.wire{min-width:0}
    .list{columns:2}
    \(cards)\(holdCards)}

    """

  /// Shows what needs a script, and copies the command. Everything else is complete without it.
  static let script = """
    "use strict";
    for (const control of document.querySelectorAll("[data-js]")) control.hidden = false;
    const copy = document.getElementById("copy");
    if (copy) copy.addEventListener("click", () => {
      const command = document.getElementById("command");
      const said = document.getElementById("copied");
      const select = () => {
        const range = document.createRange();
        range.selectNodeContents(command);
        const selection = getSelection();
        selection.removeAllRanges();
        selection.addRange(range);
        said.textContent = "Selected";
      };
      if (navigator.clipboard) navigator.clipboard.writeText(command.textContent).then(() => { said.textContent = "Copied"; }, select);
      else select();
    });

    """
}
