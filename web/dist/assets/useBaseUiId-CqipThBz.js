//# allFunctionsCalledOnLoad
import{lt as e}from"./inertValue-xugxI9Tu.js";function t(t){return e(t,`base-ui`)}export{t};