//! The calls of each guide, as its reader makes them.

use anteroom_testkit::docs;
use tokio::process::Command;

use crate::program::Program;
use crate::site::Site;

pub async fn the_calls_of_the_guide_print_what_it_says(program: Program) {
    let site = Site::of(program).await;
    let guide = docs::read(&format!("docs/how-to/integrate/{}.md", program.folder()));
    let block = guide.blocks().into_iter().find(|block| block.info == "sh norun");
    let block = block.expect("the calls of the guide");
    let calls: Vec<_> = block.code.lines().collect();
    assert_eq!(calls.len(), 5, "{calls:?}");
    for line in calls {
        let (call, says) = line.rsplit_once("  # ").expect("what it prints");
        let call = call.replace("http://127.0.0.1:8000", &site.url);
        let output = Command::new("sh").args(["-c", &call]).output().await.expect("a shell");
        let text = String::from_utf8_lossy(&output.stdout);
        let status = says.split([' ', ':']).next().expect("a status");
        assert!(text.starts_with(&format!("HTTP/1.1 {status} ")), "{line}: {text}");
        assert!(!says.contains("token_missing") || text.contains("token_missing"), "{text}");
    }
}
