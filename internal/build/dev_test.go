package build
import ("testing";"context";"fmt";"os")
func TestDev(t *testing.T){
 tc,err:=FindToolchain(context.Background(),".")
 if err!=nil {t.Fatal(err)}
 o,err:=newOverlay(tc)
 if err!=nil {t.Fatal(err)}
 p,err:=o.write("/tmp/hov",tc.Root)
 fmt.Println(p,err); os.WriteFile("/tmp/hov/path",[]byte(p),0644)
}
