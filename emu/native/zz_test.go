package native_test
import ("testing";"fmt";"os";"sort"
"github.com/xol-go/xol/emu"
"github.com/xol-go/xol/reloc")
func TestZZ(t *testing.T){
 for _, a := range fixedArches() {
  if os.Getenv("ZZ")!=a.Info().Name {continue}
  w,err:=emu.NewWorker(oracleOf(t,a.Info().Name),a.Info(),7); if err!=nil {t.Fatal(err)}
  m:=map[string][2]int{}
  ex:=map[string]string{}
  for _,r:=range a.Rows(){
   k:=r.Pattern+" : "+r.Name
   for range 12 { code,ok:=encode(a,&r,w.Pick); if !ok {break}
    var ta emu.Tally
    w.JudgeCode(&ta,a,code,[]reloc.Env{{Slots:reloc.SlotsNear,Spill:true,BTI:reloc.Off}},emu.Options{States:4,Placements:1})
    v:=m[k]; v[0]++; if ta.Limits[undefined]>0 {v[1]++; ex[k]=fmt.Sprintf("%x",code)}; m[k]=v
   }
  }
  var ks []string; for k,v:=range m { if v[1]>0 {ks=append(ks,fmt.Sprintf("%2d/%2d %s %s",v[1],v[0],k,ex[k]))}}
  sort.Strings(ks); for _,k:=range ks {fmt.Println(k)}
 }
}
