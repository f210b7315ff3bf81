import Contract
import Simulation
import Testing

@testable import Faults

struct RuleSyntaxTests {
  @Test(arguments: [
    ("drop,response,run.chatOutboxSubmit,nth=2,while=dragging", "drop,response,run.chatOutboxSubmit,nth=2,while=dragging"),
    ("delay,response,run.chatLoad,800ms", "delay,response,run.chatLoad,by=800ms"),
    ("disconnect,conn,1,at=5s,for=3s", "disconnect,conn,1,at=5s,for=3s"),
    ("restart,app,at=10.03s,for=4.97s", "restart,app,at=10030ms,for=4970ms"),
    ("restart,desktop,at=9s", "restart,server,at=9s"),
    ("restart,app,entry=17,for=1s", "restart,app,entry=17,for=1s"),
    (
      "restart,app,on=request:run.chatOutboxSubmit,sessionId=s1,nth=1,for=3s",
      "restart,app,on=request:run.chatOutboxSubmit,for=3s,sessionId=s1,nth=1"
    ),
    ("epoch-jump,server,*,by=5,at=16s", "epoch-jump,server,*,at=16s,by=5"),
    ("epoch-jump,desktop,ses-1,at=1m", "epoch-jump,server,ses-1,at=60s,by=1"),
    (
      "refuse,request,run.chatOutboxSubmit,code=busy,nth=1",
      "refuse,request,run.chatOutboxSubmit,code=busy,message=refused by the plan,permanent=false,nth=1"
    ),
    ("drop,response,x*,code=busy,id!=r2,n<3,n>1,text~a\\,b", "drop,response,x*,code=busy,id!=r2,n<3,n>1,text~a\\,b"),
    ("drop,frame,*,field:nth=3", "drop,frame,*,field:nth=3"),
    ("drop,request,x,first-per-key,conn=2,after=1s,before=2s", "drop,request,x,first-per-key,conn=2,after=1s,before=2s"),
    ("drop,request,x,conn=/v1,every=3", "drop,request,x,every=3,conn=/v1"),
    ("drop,event,x,probability=0.25", "drop,event,x,probability=0.25"),
    ("duplicate,event,x", "duplicate,event,x"),
    ("reorder,event,x", "reorder,event,x,by=1s"),
    ("hold,event,x,for=2s", "hold,event,x,for=2s"),
    ("hold,event,x,2s", "hold,event,x,for=2s"),
    ("hold,event,x,until=16s", "hold,event,x,until=16s"),
    ("corrupt,event,x", "corrupt,event,x"),
    ("truncate,event,x,to=10", "truncate,event,x,to=10"),
    ("replace,event,x,with={\"a\":1}", "replace,event,x,with={\"a\":1}"),
    ("half-open,conn,*,at=1s,for=2s", "half-open,conn,*,at=1s,for=2s"),
    ("disconnect,request,x,nth=1,for=1s", "disconnect,request,x,for=1s,nth=1"),
    ("slow,request,x,by=2s", "slow,request,x,by=2s"),
    ("forget,server,at=3s", "forget,server,at=3s"),
    ("background,app,at=3s,for=9s", "background,app,at=3s,for=9s"),
    ("suspend,app,at=3s,for=9s", "suspend,app,at=3s,for=9s"),
    ("memory-pressure,app,at=3s", "memory-pressure,app,at=3s"),
    ("step,clock,at=3s,by=-90s", "step,clock,at=3s,by=-90s"),
    ("drag,user,at=5s,1500ms", "drag,user,at=5s,for=1500ms,by=200"),
    ("drag,user,*,entry=9,for=600ms,by=-120.5,velocity=-800", "drag,user,entry=9,for=600ms,by=-120.5,velocity=-800"),
    (
      "drag,user,on=event:chat:overlay,every=9,for=2s,by=40,sessionId=s1,while=following",
      "drag,user,on=event:chat:overlay,for=2s,by=40,sessionId=s1,every=9,while=following"
    ),
    ("drag,user,on=event:x,for=1s,by=-0.0004,velocity=0,field:by=3", "drag,user,on=event:x,for=1s,by=0,field:by=3"),
    ("hold-drag,user,for=2s", "hold-drag,user,for=2s"),
    ("hold-drag,user,*,2s,nth=3,after=4s,while=update-held", "hold-drag,user,for=2s,nth=3,after=4s,while=update-held"),
    ("hold-drag,user,for=2s,probability=0.5", "hold-drag,user,for=2s,probability=0.5"),
    ("hold-drag,user,at=9s,for=2s", "hold-drag,user,at=9s,for=2s"),
    ("hold-drag,user,on=event:x,nth=2,for=2s", "hold-drag,user,on=event:x,for=2s,nth=2"),
    ("lose-stop,screen,at=5s", "lose-stop,screen,at=5s"),
    ("lose-stop,screen,on=event:x,every=2,while=dragging", "lose-stop,screen,on=event:x,every=2,while=dragging"),
    ("skip-frames,screen,at=5s,count=3", "skip-frames,screen,at=5s,count=3"),
    ("skip-frames,screen,on=event:x,count=3,field:count=4", "skip-frames,screen,on=event:x,count=3,field:count=4"),
    ("slow-markdown,screen,at=0s,400ms", "slow-markdown,screen,at=0s,for=400ms"),
    ("slow-apply,screen,entry=3,for=0s", "slow-apply,screen,entry=3,for=0s"),
  ])
  func `a rule reads, prints canonically and reads back equal`(text: String, canonical: String) throws {
    let rule = try FaultRule(parsing: text)
    #expect(rule.text == canonical)
    #expect(try FaultRule(parsing: canonical) == rule)
  }
}
