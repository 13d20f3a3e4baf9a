//! The calls of each guide, as its reader makes them.

use anteroom_testkit::docs;
use tokio::process::Command;

use crate::program::Program;
use crate::site::Site;

pub async fn the_calls_of_the_guide_print_what_it_says(program: Program) {
    let site = Site::of(program).await;
    let guide = docs::read(&format!("docs/how-to/integrate/{}.md", program.folder()));
    let mut blocks = guide.blocks().into_iter().filter(|block| block.info == "sh norun");
    let block = blocks.next().expect("the calls of the guide");
    let calls: Vec<_> = block.code.lines().collect();
    assert_eq!(calls.len(), 5, "{calls:?}");
    let run = async |script: &str| {
        let script = script.replace("http://127.0.0.1:8000", &site.url);
        let output = Command::new("sh").args(["-c", &script]).output().await.expect("a shell");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    for line in calls {
        let (call, says) = line.rsplit_once("  # ").expect("what it prints");
        let text = run(call).await;
        let status = says.split([' ', ':']).next().expect("a status");
        assert!(text.starts_with(&format!("HTTP/1.1 {status} ")), "{line}: {text}");
        assert!(!says.contains("token_missing") || text.contains("token_missing"), "{text}");
    }
    let passes = run(&blocks.next().expect("how a visitor passes").code).await;
    assert!(passes.starts_with("HTTP/1.1 200 ") && passes.contains("hello"), "{passes}");
}
